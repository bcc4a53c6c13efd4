import EventSubscription
import Testing
import TextFormats

@testable import HTTPInterface

/// The URL of an output, made of its fields.
@Suite struct PushURLReaderTests {
    private static func url(_ json: String) throws -> String {
        var reader = try FieldReader(try JSONValue(parsing: Array(json.utf8)))
        return try PushURLReader.url(of: &reader)
    }

    @Test(arguments: [
        (#"{"url": "rtmp://h/a/k"}"#, "rtmp://h/a/k"), (#"{"url": "RTMPS://h/a/k", "kind": "rtmp"}"#, "RTMPS://h/a/k"),
        (#"{"url": "whip://h/w"}"#, "whip://h/w"), (#"{"url": "https://h/w", "kind": "whip"}"#, "whips://h/w"),
        (#"{"url": "HTTP://h:8080/w?a=b", "kind": "whip"}"#, "whip://h:8080/w?a=b"),
        (#"{"url": "https://h/w", "kind": "whip", "token": "a.b/c="}"#, "whips://a.b%2Fc%3D@h/w"),
        (#"{"url": "whips://h", "token": "t"}"#, "whips://t@h"),
        (#"{"url": "https://h/w"}"#, "https://h/w"),
        (#"{"url": "srt://h:1", "kind": null, "token": null}"#, "srt://h:1"),
    ])
    func fieldsAreOneURL(json: String, url: String) throws {
        #expect(try Self.url(json) == url)
    }

    @Test(arguments: [
        (#"{"url": "srt://h:1", "kind": "whip"}"#, "url"), (#"{"url": "https://h/w", "kind": "rtmp"}"#, "url"),
        (#"{"url": "whip://h/w", "kind": "webrtc"}"#, "kind"), (#"{"url": "rtmp://h/a/k", "token": "t"}"#, "token"),
        (#"{"url": "whip://h/w", "token": ""}"#, "token"), (#"{"url": "whip://h/w", "token": "a b"}"#, "token"),
        (#"{"url": "whip://h/w", "token": "é"}"#, "token"), (#"{"url": "whip://a@h/w", "token": "t"}"#, "token"),
        (#"{"url": "whip://h/w", "token": "***"}"#, "token"), (#"{"url": "whip://h/whip/***"}"#, "url"),
        (#"{"url": "whip://h/w", "token": 5}"#, "token"), (#"{"kind": "whip"}"#, "url"),
    ])
    func whatDoesNotFitIsNamedWithoutTheToken(json: String, field: String) {
        let error = #expect(throws: InputError.self) { try Self.url(json) }
        #expect(error?.field == field, "\(String(describing: error))")
    }

    @Test func tokensAreBounded() throws {
        let longest = String(repeating: "a", count: 1024)
        #expect(try Self.url(#"{"url": "whip://h/w", "token": "\#(longest)"}"#).utf8.count == 1035)
        #expect(throws: InputError.self) { try Self.url(#"{"url": "whip://h/w", "token": "\#(longest)a"}"#) }
    }
}
