import Foundation
import Testing
import TextFormats

@testable import MixModel

/// Addresses of pages, and the parts of them that are stored.
struct PageSourceTests {
    private static func address(_ url: String, _ parameters: [(String, String)] = [], token: String? = nil) -> String {
        PageSource(
            url: url, parameters: parameters.map { PageSource.Parameter(name: $0.0, value: $0.1) }, token: token
        ).address(hasToken: true)
    }

    @Test func parametersAreAddedToTheQuery() {
        #expect(Self.address("https://a/b") == "https://a/b")
        #expect(Self.address("https://a/b", [("c", "d e&f")]) == "https://a/b?c=d%20e%26f")
        #expect(Self.address("https://a/b?x=1", [("c", "d")]) == "https://a/b?x=1&c=d")
        #expect(Self.address("https://a/b?", [("c", "d")]) == "https://a/b?c=d")
        #expect(Self.address("https://a/b?x&", [("c", "d")]) == "https://a/b?x&c=d")
        #expect(Self.address("https://a/b?x=1#/route?y", [("c", "d")]) == "https://a/b?x=1&c=d#/route?y")
        #expect(Self.address("https://a#r", [("é", "ü")], token: "t") == "https://a?%C3%A9=%C3%BC&token=t#r")
    }

    @Test func aTokenIsInTheFirstAddressOnly() {
        let page = PageSource(url: "https://a/", token: "t/1")
        #expect(
            page.address(hasToken: true) == "https://a/?token=t%2F1" && page.address(hasToken: false) == "https://a/")
        #expect(PageSource(url: "https://a/#b").placeURL == "https://a/")
        // The sign and the accent behind it are one character, but the address ends before both.
        #expect(PageSource(url: "https://a/#\u{301}b").placeURL == "https://a/")
    }

    /// Only the service keeps the page of a stream: documents of rooms and events do not contain it.
    @Test func publicationsAreStoredWithoutTheirPage() throws {
        var publication = Publication(user: "a", url: "https://a/?secret")
        publication.page = PageSource(url: "https://a/?secret", token: "t")
        let text = String(decoding: try JSONEncoder().encode(publication), as: UTF8.self)
        #expect(!text.contains("page") && !text.contains("token"))
        publication.page = nil
        #expect(try JSONDecoder().decode(Publication.self, from: Data(text.utf8)) == publication)
    }

    @Test func jobsAreReadAsTheyWereWritten() throws {
        let job = PageJob(
            address: "https://a/", firstAddress: "https://a/?token=t", target: "rtmp://127.0.0.1/x", width: 2,
            height: 4,
            frameRate: 30, ready: .expression("a"), end: .expression("b"),
            hosts: HostList(entries: [HostList.Entry(host: "a", port: 443)]),
            user: "nobody", processors: 2, niceness: 5)
        let line = try DocumentEncoder.json(PageCommand.publish(job))
        #expect(try JSONDecoder().decode(PageCommand.self, from: Data(line.utf8)) == .publish(job))
        // Pages that an earlier release has stored have no limits, and the end that their beginning implies.
        var old = job
        (old.hosts, old.processors, old.niceness, old.end) = (nil, nil, nil, nil)
        let stored = try DocumentEncoder.json(PageCommand.publish(old))
        #expect(!["hosts", "processors", "niceness", "\"end\""].contains { stored.contains($0) })
        #expect(try JSONDecoder().decode(PageCommand.self, from: Data(stored.utf8)) == .publish(old))
        #expect(old.ending == .never && job.ending == .expression("b"))
        old.ready = .console
        #expect(old.ending == .console)
    }
}
