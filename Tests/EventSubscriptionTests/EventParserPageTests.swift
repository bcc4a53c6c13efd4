import MixModel
import Testing

@testable import EventSubscription

/// Publications that are web pages.
struct EventParserPageTests {
    private static func publication(_ fields: String, allowed: AllowList = .loopbackOnly) throws -> Publication {
        let json = #"{"type":"stream.published","user":"board",\#(fields)}"#
        let event = try EventParser(allowList: allowed).shortForm(JSONValue(parsing: json.utf8), room: "demo", id: "1")
        guard case .streamPublished(let publication) = event.kind else { throw Failure() }
        return publication
    }

    private struct Failure: Error {}

    @Test func everyFieldIsRead() throws {
        let page = try Self.publication(
            """
            "kind":"page","url":"http://127.0.0.1:8000/a?b#c","width":1280,"height":720,"frameRate":30,"ready":"console",
            "parameters":{"z":"1","a":"2"},"token":"t","role":"host"
            """)
        #expect(page.role == .host && page.url == "http://127.0.0.1:8000/a?b#c")
        #expect(
            page.page
                == PageSource(
                    url: "http://127.0.0.1:8000/a?b#c",
                    parameters: [.init(name: "a", value: "2"), .init(name: "z", value: "1")], token: "t", width: 1280,
                    height: 720, frameRate: 30, ready: .console))
        #expect(try Self.publication(#""kind":"page","url":"http://127.0.0.1/""#).page?.ready == .painted)
        #expect(
            try Self.publication(#""kind":"page","url":"http://127.0.0.1/","ready":"window.x""#).page?.ready
                == .expression("window.x"))
    }

    @Test func theEndIsRead() throws {
        func end(_ fields: String) throws -> PageEnding? {
            try Self.publication(#""kind":"page","url":"http://127.0.0.1/""# + fields).page?.end
        }
        #expect(try end("") == nil)
        #expect(try end(#","end":null"#) == nil)
        #expect(try end(#","end":"never","ready":"console""#) == .never)
        #expect(try end(#","end":"console""#) == .console)
        #expect(try end(#","end":"window.over","ready":"painted""#) == .expression("window.over"))
        let long = String(repeating: "a", count: PageSource.longestExpression)
        #expect(try end(#","end":"\#(long)""#) == .expression(long))
        #expect(throws: InputError.self) { _ = try end(#","end":"\#(long)a""#) }
    }

    @Test func aMeetingIsAPage() throws {
        #expect(try Self.publication(#""meetingURL":"http://127.0.0.1/m""#).page?.url == "http://127.0.0.1/m")
        #expect(try Self.publication(#""kind":"stream","url":"rtmp://127.0.0.1/live/a""#).page == nil)
        #expect(try Self.publication(#""url":"rtmp://127.0.0.1/live/a""#).page == nil)
    }

    @Test(arguments: [
        (#""kind":"page""#, "url"), (#""kind":"page","url":"rtmp://127.0.0.1/x""#, "url"),
        (#""kind":"page","url":"https://a.example/""#, "url"), (#""kind":"page","url":"file:///etc/passwd""#, "url"),
        (#""kind":"page","url":"http://127.0.0.1/é""#, "url"), (#""meetingURL":"http://a.example/""#, "meetingURL"),
        (#""meetingURL":"http://127.0.0.1/","url":"http://127.0.0.1/""#, "url"),
        (#""kind":"stream","meetingURL":"http://127.0.0.1/""#, "meetingURL"),
        (#""kind":"page","url":"http://127.0.0.1/","width":1281"#, "width"),
        (#""kind":"page","url":"http://127.0.0.1/","height":100000"#, "height"),
        (#""kind":"page","url":"http://127.0.0.1/","frameRate":0"#, "frameRate"),
        (#""kind":"page","url":"http://127.0.0.1/","ready":"""#, "ready"),
        (#""kind":"page","url":"http://127.0.0.1/","end":"""#, "end"),
        (#""kind":"page","url":"http://127.0.0.1/","end":true"#, "end"),
        (#""url":"rtmp://127.0.0.1/live/a","end":"never""#, "end"),
        (#""kind":"page","url":"http://127.0.0.1/","parameters":{"a":1}"#, "parameters"),
        (#""kind":"page","url":"http://127.0.0.1/","parameters":{"":"x"}"#, "parameters"),
        (#""kind":"page","url":"http://127.0.0.1/","token":"""#, "token"),
        (#""kind":"page","url":"http://127.0.0.1/","backup":"rtmp://127.0.0.1/x""#, "backup"),
        (#""kind":"window","url":"http://127.0.0.1/""#, "kind"),
        (#""url":"rtmp://127.0.0.1/live/a","width":1280"#, "width"),
    ]) func whatIsWrongIsNamed(_ fields: String, _ field: String) throws {
        #expect {
            _ = try Self.publication(fields)
        } throws: { error in
            (error as? InputError)?.field == field
        }
    }

    @Test func secretsAreNotQuoted() throws {
        let long = String(repeating: "s3cret", count: 200)
        for fields in [
            #""kind":"page","url":"http://127.0.0.1/","token":"\#(long)""#,
            #""kind":"page","url":"http://127.0.0.1/","parameters":{"a":"\#(long)"}"#,
        ] {
            #expect {
                _ = try Self.publication(fields)
            } throws: { error in
                !"\(error)".contains("s3cret")
            }
        }
    }
}
