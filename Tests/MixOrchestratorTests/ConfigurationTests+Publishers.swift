import EventSubscription
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The configuration of the endpoints for publishers.
extension ConfigurationTests {
    @Test func webRTCIsOnIfTheSettingSaysSo() throws {
        for off in [Self.ingest("grace: 3"), Self.webrtc("whip: off"), "webrtc: { silence: 4 }"] {
            #expect(try configuration(off).webrtc == nil)
        }
        let plain = try #require(try configuration(Self.webrtc("silence: 4")).webrtc)
        #expect(
            plain.rules.silence == 4 && plain.rules.startBitRate == 2_500_000 && plain.rules.iceServers(at: 0).isEmpty)
        #expect(plain.rules.limits == WebRTCLimits(all: 64, perApp: 64, perAddress: 64))
        #expect(plain.rules.privateAddresses == .local)
        let full = try #require(
            try configuration(
                Self.webrtc(
                    "addresses: [10.0.0.7, \"fd00::7\"], startBitRate: 0, maxPublishers: 10, maxPublishersPerAddress: 2, "
                        + "stun: \"stun://stun.example:3478\", turn: { url: \"turn:[::1]:3478\", user: \"a:b\", "
                        + "password: \"p@ssword/0123456\" }")
            ).webrtc)
        #expect(full.rules.network.addresses == ["10.0.0.7", "fd00::7"] && full.rules.startBitRate == nil)
        #expect(full.rules.limits == WebRTCLimits(all: 10, perApp: 10, perAddress: 2))
        #expect(full.rules.network(at: 0).turn == ["turn://a%3Ab:p%40ssword%2F0123456@[::1]:3478"])
        #expect(
            full.rules.iceServers(at: 0) == [
                .init(url: "stun:stun.example:3478"),
                .init(url: "turn:[::1]:3478", user: "a:b", password: "p@ssword/0123456"),
            ])
    }

    /// Apps share the places for viewers over WebRTC.
    @Test func viewersOverWebRTCHaveLimits() throws {
        let plain = try #require(try configuration(Self.webrtc("whep: on")).webrtc)
        #expect(plain.viewerLimits == WebRTCViewerLimits() && plain.warnings.isEmpty)
        let full = try #require(
            try configuration(
                Self.webrtc("whep: on, maxViewers: 9, maxViewersPerApp: 5, maxViewersPerAddress: 3, maxPullsPerApp: 2")
                    + "\napps: [{ id: shop }, { id: zoo }]"
            ).webrtc)
        #expect(
            full.viewerLimits
                == WebRTCViewerLimits(
                    all: 9, perApp: 5, perAddress: 3, pullsPerApp: 2, apps: [.standard, "shop", "zoo"]))
        // With tokens, only the configured apps have rooms.
        let closed = try #require(
            try configuration(
                Self.webrtc("whep: on, maxViewers: 1")
                    + "\napps: [{ id: shop, tokens: [{ token: 0123456789abcdef0123456789abcdef, scopes: [read] }] }, { id: zoo }]"
            ).webrtc)
        #expect(closed.viewerLimits.apps == ["shop", "zoo"] && closed.viewerLimits.perApp == 1)
        #expect(closed.warnings.first?.hasPrefix("webrtc.maxViewers: 1 places for 2 apps") == true)
        #expect(closed.rules.limits == WebRTCLimits(apps: ["shop", "zoo"]))
        for wrong in ["maxViewersPerApp: 0", "maxPullsPerApp: 0", "maxPullsPerApp: many"] {
            #expect(throws: StartupError.self, "\(wrong)") { try configuration(Self.webrtc("whep: on, \(wrong)")) }
        }
    }

    @Test func pagesHaveLimits() throws {
        let ingest = Self.ingest("grace: 3") + "\n"
        let plain = try #require(try configuration(ingest + "pages: { enabled: true }").pages)
        #expect(plain.cpu == PageRules.defaultCPU && plain.niceness == 0 && !plain.restrictsRequests)
        let full = try #require(
            try configuration(ingest + "pages: { enabled: true, cpu: 0, niceness: 19, requests: allowed }").pages)
        #expect(full.cpu == 0 && full.niceness == 19 && full.restrictsRequests)
        for wrong in ["cpu: -1", "cpu: 0.5", "niceness: 20", "niceness: -1", "requests: listed"] {
            #expect(throws: StartupError.self, "\(wrong)") {
                try configuration(ingest + "pages: { enabled: true, \(wrong) }")
            }
        }
    }

    @Test func turnServersMayBeSeveralAndShareASecret() throws {
        let webrtc = try #require(
            try configuration(
                Self.webrtc(
                    "turn: { url: \"turn:t.example:3478, turn:t.example:3478?transport=tcp, turns:t.example:443\", "
                        + "secret: north, validity: 3600 }")
            ).webrtc)
        // `printf 1800003600:mixorchestrator | openssl dgst -sha1 -hmac north -binary | base64`
        let password = "h8adv1+86WBOUb5x++0T0x6A+U8="
        let servers = webrtc.rules.iceServers(at: 1_800_000_000)
        #expect(
            servers.map(\.url) == [
                "turn:t.example:3478", "turn:t.example:3478?transport=tcp", "turns:t.example:443",
            ])
        #expect(servers.allSatisfy { $0.user == "1800003600:mixorchestrator" && $0.password == password })
        #expect(webrtc.rules.network(at: 1_800_000_000).turn.count == 1, "workers have no TURN over TLS, and try both")
        #expect(webrtc.rules.network.turn.isEmpty)
        let standard = try configuration(Self.webrtc("turn: { url: \"turn:t.example:3478\", secret: north }")).webrtc
        #expect(standard?.rules.iceServers(at: 100).first?.user == "86500:mixorchestrator")
        #expect(standard?.rules.iceServers(at: .max).first?.user == "\(Int.max):mixorchestrator")
    }

    static func webrtc(_ more: String) -> String {
        let isOff = more == "whip: off"
        return ingest("grace: 3") + "\nwebrtc: { \(isOff ? "" : "whip: on, ")\(more) }"
    }

    static func ingest(_ more: String) -> String {
        "ingest: { rtmp: { listen: \"127.0.0.1:1935\" }, \(more) }"
    }

    /// The ingest's address for other nodes is the configured one, or is derived from the address on which it listens.
    @Test func anIngestInAClusterHasAPlace() throws {
        let node = "\nstore: { url: \"postgresql://mix@db/mix\" }\nnode: { url: \"http://node-a.pods:8080\" }"
        func ingest(_ rtmp: String) throws -> IngestConfiguration {
            let read = try configuration("ingest: { rtmp: { \(rtmp) }, key: 0123456789abcdef }" + node)
            #expect(read.node?.ingest == read.ingest?.rules.advertised)
            return try #require(read.ingest)
        }
        #expect(try ingest("listen: \"0.0.0.0:1935\"").rules.advertised?.text == "node-a.pods:1935")
        let own = try ingest("listen: \"127.0.0.1:1935\"")
        #expect(own.rules.advertised == nil && own.warnings.contains { $0.contains("ingest.rtmp.advertise") })
        let named = try ingest("listen: \"127.0.0.1:1935\", advertise: \"10.0.0.1:31935\"")
        #expect(named.rules.advertised?.text == "10.0.0.1:31935" && named.warnings.isEmpty)
        #expect(try configuration(Self.ingest("grace: 3")).ingest?.rules.advertised == nil)
        for (wrong, words) in [
            ("ingest: { rtmp: { listen: \"127.0.0.1:1935\", advertise: \"10.0.0.1\" } }" + node, "host:port"),
            ("ingest: { rtmp: { listen: \"127.0.0.1:1935\", advertise: \"0.0.0.0:1\" } }" + node, "host:port"),
            ("ingest: { rtmp: { listen: \"127.0.0.1:1935\", advertise: \"10.0.0.1:1\" } }", "node.url"),
            ("ingest: { rtmp: { advertise: \"10.0.0.1:1\" } }" + node, "ingest.rtmp.listen"),
        ] {
            #expect { try configuration(wrong) } throws: { "\($0)".contains(words) && "\($0)".contains("advertise") }
        }
    }

    @Test func publishersMayUseTLS() throws {
        let ingest = try configuration(
            Self.ingest(
                "key: 0123456789abcdef, rtmps: { listen: \"0.0.0.0:443\", certificate: /etc/c.pem, key: /etc/k.pem }")
        ).ingest
        #expect(
            ingest?.rules.rtmps
                == IngestTLS(host: "0.0.0.0", port: 443, certificate: "/etc/c.pem", key: "/etc/k.pem"))
        #expect(ingest?.rules.host == "127.0.0.1")
    }

    @Test func publishersMayBeAskedAbout() throws {
        let secret = WebhookSignature.newSecret()
        let ingest = try configuration(
            Self.ingest("onPublish: { url: \"https://app.example/hook\", timeout: 1.5, secret: \(secret) }")
                + "\ncallbacks: { allow: [\"https://app.example\"] }"
        ).ingest
        #expect(
            ingest?.hook
                == PublishHook(url: try StreamURL("https://app.example/hook"), timeout: 1.5, secret: secret))
        let plain = try configuration(Self.ingest("onPublish: { url: \"http://127.0.0.1:9/hook\" }")).ingest
        #expect(plain?.hook?.timeout == .seconds(3) && plain?.hook?.secret == nil)
        #expect(try configuration(Self.ingest("grace: 3")).ingest?.hook == nil)
    }

    @Test func theIngestIsOnWithAnAddress() throws {
        for off in ["", "ingest: { rtmp: { listen: null } }", "ingest: { rtmp: { listen: \"\" } }"] {
            #expect(try configuration(off).ingest == nil)
        }
        let plain = try #require(try configuration("ingest: { rtmp: { listen: \"127.0.0.1:1936\" } }").ingest)
        #expect(plain.rules.port == 1936 && plain.rules.grace == 10 && plain.rules.takeover == .replace)
        #expect(!plain.allowsPlay && plain.signatures.isOpen)
        let full = try #require(
            try configuration(
                "ingest: { rtmp: { listen: \"0.0.0.0:1935\" }, key: 0123456789abcdef, grace: 2.5, takeover: refuse, play: on }"
            ).ingest)
        #expect(full.rules.grace == 2.5 && full.rules.takeover == .refuse && full.allowsPlay && !full.signatures.isOpen)
        #expect(full.rules.places.map(\.address) == ["127.0.0.1"])
    }
}
