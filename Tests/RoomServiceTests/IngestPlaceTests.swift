import EventSubscription
import MixModel
import Testing
import TextFormats

@testable import RoomService

@Suite struct IngestPlaceTests {
    @Test(arguments: [
        ("10.0.0.1:1935", "10.0.0.1"), ("[fd00::1]:1935", "fd00::1"), ("node-b.pods.svc:1", "node-b.pods.svc"),
        ("A_b:65535", "A_b"), ("127.0.0.1:1936", "127.0.0.1"),
    ])
    func placesAreReadAndWritten(_ text: String, _ host: String) {
        let place = IngestPlace(text)
        #expect(place?.host == host && place?.text == text)
    }

    @Test(arguments: [
        "", "host", ":1935", "host:", "host:0", "host:65536", "host:-1", "fd00::1:1935", "[host]:1935", "[]:1",
        "0.0.0.0:1935", "[::]:1935", "[0::0]:1", "a b:1", "user@host:1", "host/path:1", "*:1935", "10.0.*:1935",
        "häuser:1",
        String(repeating: "a", count: 254) + ":1",
    ])
    func whatIsNoPlaceIsNotRead(_ text: String) { #expect(IngestPlace(text) == nil) }

    @Test func relaysMayGoToThePlaceOnly() throws {
        func allows(_ place: String, _ host: String, at address: String, _ port: Int = 1935) throws -> Bool {
            let reach = Reach(places: [try #require(IngestPlace(place)).reach])
            let address = try #require(InternetAddress(text: address))
            return reach.allows(address, of: Reach.Target(scheme: "rtmp", host: host, port: port))
        }
        #expect(try allows("10.0.0.1:1935", "10.0.0.1", at: "10.0.0.1"))
        #expect(try allows("[fd00:0::1]:1935", "fd00::1", at: "fd00::1"))
        #expect(try allows("b.pods:1935", "b.pods", at: "10.0.0.1"))
        #expect(try !allows("10.0.0.1:1935", "10.0.0.2", at: "10.0.0.2"))
        #expect(try !allows("10.0.0.1:1935", "10.0.0.1", at: "10.0.0.1", 5432))
        #expect(try !allows("b.pods:1935", "c.pods", at: "10.0.0.1"))
        #expect(try !allows("b.pods:1935", "10.0.0.1", at: "10.0.0.1"))
    }

    /// The place that other nodes reach follows from the listening address and from the configured one.
    @Test(
        arguments: [
            ("0.0.0.0", nil, "node-a:1935"), ("::", nil, "node-a:1935"), ("10.0.0.1", nil, "10.0.0.1:1935"),
            ("fd00::1", nil, "[fd00::1]:1935"), ("127.0.0.1", nil, nil), ("::1", nil, nil), ("localhost", nil, nil),
            ("127.0.0.1", "127.0.0.1:1935", "127.0.0.1:1935"), ("0.0.0.0", "lb.example:31935", "lb.example:31935"),
        ] as [(String, String?, String?)])
    func aLoopbackIngestIsTheNodesOwn(_ host: String, _ asked: String?, _ expected: String?) {
        let place = IngestPlace.advertised(
            asked: asked.flatMap { IngestPlace($0) }, listening: IngestPlace(host: host, port: 1935),
            nodeHost: "node-a")
        #expect(place?.text == expected)
    }

    /// The order of the nodes changes no plan, and an invalid place written by a node allows nothing.
    @Test func placesOfNodesAreBoundedAndOrdered() {
        let texts = ["b:2", "a:1", "b:2", "*:1", ""]
        #expect(IngestPlace.of(texts).map(\.text) == ["a:1", "b:2"])
        #expect(IngestPlace.of(texts.reversed()) == IngestPlace.of(texts))
        #expect(IngestPlace.of((0..<2000).map { "n\($0):1935" }).count == IngestPlace.most)
    }

    /// Relays pull from the advertised place, and the machine's own workers publish to the local one.
    @Test func theURLsHaveTheirPlaces() throws {
        let key = IngestStreamKey(StreamNames(room: "demo", user: "alice", stream: .camera))
        var rules = IngestRules(host: "0.0.0.0", port: 1935)
        let local = key.url(of: rules, secret: "s")
        rules.advertised = IngestPlace("10.0.0.1:31935")
        let url = key.url(of: rules, secret: "s")
        #expect(local.hasPrefix("rtmp://127.0.0.1:1935/relay/") && url.hasPrefix("rtmp://10.0.0.1:31935/relay/"))
        #expect(url.hasSuffix(key.relayPath(secret: "s")) && local.hasSuffix(key.relayPath(secret: "s")))
        #expect(!url.hasSuffix(key.relayPath(secret: "other")))
        #expect(key.publishingURL(of: rules, secret: "s").hasPrefix("rtmp://127.0.0.1:1935/publish/"))
        #expect(rules.places.map(\.address) == ["127.0.0.1", "10.0.0.1"] && rules.places.map(\.port) == [1935, 31935])
        #expect(rules.playPlace == nil)

        let places = try [#require(IngestPlace("10.0.0.1:31935"))]
        #expect(key.isStream(url, at: places))
        #expect(!key.isStream(local, at: places) && !key.isStream(url, at: []))
        let other = IngestStreamKey(StreamNames(room: "demo", user: "bob", stream: .camera))
        #expect(!other.isStream(url, at: places))
    }
}
