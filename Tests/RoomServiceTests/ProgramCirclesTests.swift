import MixModel
import Synchronization
import Testing
import TextFormats

@testable import EventSubscription
@testable import RoomService

@Suite struct ProgramCirclesTests {
    private func key(_ room: String, _ user: String = "program") -> IngestStreamKey {
        IngestStreamKey(StreamNames(room: RoomID(app: .standard, name: room), user: UserID(user), stream: .camera))
    }

    private func room(_ name: String) -> RoomID { RoomID(app: .standard, name: name) }

    @Test func aRoomMayShowAnothersProgramButNotItsOwn() {
        var circles = ProgramCircles()
        func begins(_ key: IngestStreamKey, from name: String?) -> Bool { circles.begin(key, from: name.map(room)) }
        #expect(!begins(key("a"), from: "a"))
        #expect(begins(key("b"), from: "a") && begins(key("c"), from: "b"))
        #expect(begins(key("c", "again"), from: "a"), "twice is no circle")
        #expect(!begins(key("a"), from: "c") && !begins(key("b"), from: "c"))
        circles.end(key("b"))
        #expect(!begins(key("a"), from: "c"), "by the second stream")
        circles.end(key("c", "again"))
        #expect(begins(key("a"), from: "c"))
        #expect(!begins(key("c"), from: "a"))
    }

    @Test func aPersonInTheSamePlaceEndsTheCircle() {
        var circles = ProgramCircles()
        func begins(_ key: IngestStreamKey, from name: String?) -> Bool { circles.begin(key, from: name.map(room)) }
        #expect(begins(key("b"), from: "a") && !begins(key("a"), from: "b"))
        #expect(begins(key("b"), from: nil) && begins(key("a"), from: "b"))
    }

    @Test func whatBeganDuringAnEarlierRunCounts() {
        var circles = ProgramCircles(origins: [key("b"): room("a")])
        let isCircle = !circles.begin(key("a"), from: room("b"))
        #expect(isCircle && circles.origins == [key("b"): room("a")])
    }

    /// Each ingest knows the programs that it receives. The ingest that decides has asked the others.
    @Test func circlesThroughOtherIngestsAreFound() {
        var circles = ProgramCircles()
        let isBegun = circles.begin(key("b"), from: room("a"))
        #expect(isBegun && !circles.closes(key("b"), from: room("a"), with: [:]))
        #expect(!circles.closes(key("b"), from: room("a"), with: [key("c"): room("b")]))
        #expect(circles.closes(key("b"), from: room("a"), with: [key("c"): room("b"), key("a"): room("c")]))
        #expect(circles.closes(key("b"), from: room("a"), with: [key("a"): room("b")]), "two that begin at once")
        #expect(!circles.closes(key("c"), from: room("b"), with: [key("b"): room("c")]), "here the stream is another's")
        circles.set(key("b"), nil)
        #expect(circles.origins.isEmpty)
    }

    @Test func whoSendsToAPathIsFoundWhateverTheHost() {
        let claims = DestinationClaims()
        let urls = [
            "rtmp://ingest.example/live/b__a", "rtmps://[2001:db8::1]:99/live/b__a", "rtmp://h/live/b__ab",
            "rtmp://h/x/live/b__a",
        ]
        for (number, url) in urls.enumerated() {
            _ = claims.claim([PushDestination(id: OutputID("o"), url: url)], for: TaskID("t\(number)"))
        }
        #expect(claims.tasks(sendingTo: "/live/b__a") == [TaskID("t0"), TaskID("t1")])
        #expect(claims.tasks(sendingTo: "/live/c__a").isEmpty && claims.tasks(sendingTo: "").isEmpty)
    }

    /// A host name is looked up if the URL has the publisher's port and path. It means this machine if it resolves to
    /// the address that the publisher comes from.
    @Test(arguments: [
        ("192.0.2.7", ["198.51.100.1", "192.0.2.7"], true), ("127.0.0.1", ["127.0.1.1"], true),
        ("::1", ["127.0.1.1"], true),
        ("192.0.2.7", ["127.0.0.1"], false), ("127.0.0.1", ["192.0.2.7"], false), ("127.0.0.1", [], false),
    ])
    func namesThatMeanThisMachineAreFound(source: String, addresses: [String], isFound: Bool) async throws {
        let claims = DestinationClaims()
        let task = TaskID("auto-a")
        let urls = [
            "rtmp://host.example/live/b__a", "rtmp://other.example/live/c__a", "rtmp://host.example:99/live/b__a",
        ]
        _ = claims.claim(urls.enumerated().map { PushDestination(id: OutputID("\($0)"), url: $1) }, for: task)
        let request = IngestRequest(
            request: 1, isPublish: true, application: "live", name: "b__a", query: "", address: source, session: "s")
        let asked = Mutex<[String]>([])
        let found = await claims.sender(of: request, at: IngestRules(host: "0.0.0.0", port: 1935)) { host in
            asked.withLock { $0.append(host) }
            return addresses.compactMap { InternetAddress($0.split(separator: ".").compactMap { UInt8($0) }) }
        }
        #expect((found == task) == isFound && asked.withLock { $0 } == ["host.example"])
    }

    @Test func thePublisherIsFoundAmongTheOutputs() async {
        let claims = DestinationClaims()
        let task = TaskID("auto-a")
        let urls = [
            "rtmp://127.0.0.1:1935/live/b__a", "rtmps://localhost:4430/live/c__a", "rtmp://cdn.example/live/d__a",
        ]
        _ = claims.claim(urls.enumerated().map { PushDestination(id: OutputID("\($0)"), url: $1) }, for: task)
        var rules = IngestRules(host: "0.0.0.0", port: 1935)
        func sender(_ name: String, from address: String = "127.0.0.1") async -> TaskID? {
            let request = IngestRequest(
                request: 1, isPublish: true, application: "live", name: name, query: "", address: address, session: "s")
            return await claims.sender(of: request, at: rules) { _ in [] }
        }
        for (name, found) in [("b__a", task), ("c__a", nil), ("d__a", nil), ("x__a", nil)] {
            #expect(await sender(name) == found, "\(name)")
        }
        rules.rtmps = IngestTLS(host: "0.0.0.0", port: 4430, certificate: "", key: "")
        #expect(await sender("c__a") == task)
        _ = claims.claim([PushDestination(id: OutputID("o"), url: "rtmp://192.0.2.7/live/e__a")], for: task)
        #expect(await sender("e__a", from: "192.0.2.7") == task)
        #expect(await sender("e__a") == nil)
        #expect(await sender("b__a") == nil)
    }
}
