import EventSubscription
import Foundation
import HTTPTypes
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

extension Bench {
    /// Publishes camera and screen of a participant in the room `demo`, as if they came to the service's ingest.
    func publishToIngest(_ user: String, app: String = "default") async throws {
        let secret = try IngestFiles(data: directory).secret()
        for kind in [StreamKind.camera, .screen] {
            let names = StreamNames(room: RoomID(app: AppID(app), name: "demo"), user: UserID(user), stream: kind)
            let url = IngestStreamKey(names).url(of: IngestRules(host: "127.0.0.1", port: 19_350), secret: secret)
            let event =
                #"{"type":"stream.published","user":"\#(user)","stream":"\#(kind.rawValue)","url":"\#(url)"}"#
            let answer = try await call(.post, "/v1/rooms/demo/events?app=\(app)", event)
            #expect(answer.status == 202, "\(answer.text)")
        }
    }
}

/// WHEP over HTTP, with a scripted process at the other end of the worker's socket.
@Suite(.timeLimit(.minutes(3))) struct WHEPRouteTests {
    private static let offer = ScriptedWHIPWorker.offer(direction: "recvonly")

    func withWHEP(
        _ settings: [String: [String]] = [:], in directory: String? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        @Sendable func run(_ directory: String) async throws {
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(),
                settings: ScriptedWHIPWorker.settings(in: directory).merging(settings) { $1 }
            ) { bench in
                try await bench.publish("alice")
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("onAir") == "bypass" ? true : nil
                }
                try await body(bench)
            }
        }
        if let directory { return try await run(directory) }
        try await withDirectory { try await run($0) }
    }

    /// Posts an offer, and again if too many sessions start in this second.
    static func watch(
        _ bench: Bench, _ uri: String = "/whep/demo", _ behaviour: ScriptedWHIPWorker.Behaviour = .answers,
        token: String? = nil
    ) async throws -> Answer {
        var headers = WHIPRouteTests.sdp
        if let token { headers[.authorization] = AccessTests.bearer(token)[.authorization] }
        return try await eventually {
            let answer = try await bench.call(
                .post, uri, ScriptedWHIPWorker.offer(behaviour, direction: "recvonly"), headers: headers)
            // Without a free place the time is longer.
            return answer.status == 429 && answer.headers[.retryAfter] == "1" ? nil : answer
        }
    }

    static func publish(_ user: String, at url: String, to bench: Bench) async throws {
        let event = #"{"type":"stream.published","user":"\#(user)","url":"\#(url)"}"#
        let answer = try await bench.call(.post, "/v1/rooms/demo/events", event)
        #expect(answer.status == 202, "\(answer.text)")
    }

    /// Returns the stream that the last worker was told to play.
    private static func lastSource(_ directory: String) throws -> PlaySource {
        let line = try #require(ScriptedWHIPWorker.told(in: directory).last { $0.hasPrefix("{\"play\"") })
        guard case .play(let source) = try JSONDecoder().decode(PlayCommand.self, from: Data(line.utf8)) else {
            throw TimedOut()
        }
        return source
    }

    private static func commands(_ directory: String) -> [String] {
        ScriptedWHIPWorker.told(in: directory).map { String($0.prefix { $0 != ":" && $0 != " " }) }
    }

    @Test func viewersOfAProgramShareAWorker() async throws {
        try await withWHEP(["webrtc.publicAddress": ["203.0.113.7"], "webrtc.stun": ["stun:stun.example:3478"]]) {
            bench in
            let first = try await Self.watch(bench)
            #expect(first.status == 201, "\(first.text)")
            #expect(first.text == "v=0\r\ns=answer\r\n")
            #expect(first.headers[.eTag] == "\"ice-1\"")
            #expect(first.headers[values: try #require(HTTPField.Name("Link"))].count == 1)
            let session = try #require(first.headers[.location])
            #expect(session.wholeMatch(of: #/\/whep-sessions\/[0-9a-f]{32}/#) != nil)
            let second = try await Self.watch(bench, "/live/demo.whep?task=auto-demo")
            #expect(second.status == 201, "\(second.text)")

            let told = ScriptedWHIPWorker.told(in: bench.directory)
            #expect(told.first?.hasPrefix("argv whep --socket \(bench.directory)/webrtc/play-") == true)
            let line = try #require(told.first { $0.hasPrefix("{\"play\"") })
            guard case .play(let source) = try JSONDecoder().decode(PlayCommand.self, from: Data(line.utf8)) else {
                throw TimedOut()
            }
            #expect(source.origin == .program(socket: bench.directory + "/relays/auto-demo.sock"))
            #expect(source.network.publicAddress == "203.0.113.7")
            #expect(Self.commands(bench.directory) == ["argv", "{\"hello\"", "{\"play\"", "{\"view\"", "{\"view\""])
            // The viewers are counted as viewers of the program.
            try await eventually {
                try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "2" ? true : nil
            }
            let metrics = try await eventually {
                let text = try await bench.call(.get, "/metrics").text
                return text.contains("webrtc_viewers 2") && text.contains("webrtc_sent_lost_packets_total 3")
                    ? text : nil
            }
            #expect(metrics.contains("webrtc_views_total{result=\"opened\"} 2"))

            for match in ["\"ice-1\"", "*", nil] {
                var headers = WHIPRouteTests.fragment
                headers[.ifMatch] = match
                let answer = try await bench.call(.patch, session, WHIPRouteTests.candidates, headers: headers)
                #expect(answer.status == 204, "\(answer.text)")
            }
            var headers = WHIPRouteTests.fragment
            let restart = WHIPRouteTests.restart
            #expect(try await bench.call(.patch, session, restart, headers: headers).status == 409)
            headers[.ifMatch] = "*"
            #expect(try await bench.call(.patch, session, restart, headers: headers).status == 422)
            headers[.ifMatch] = "\"ice-2\""
            #expect(try await bench.call(.patch, session, WHIPRouteTests.candidates, headers: headers).status == 412)

            #expect(try await bench.call(.delete, session).status == 200)
            #expect(try await bench.call(.delete, session).status == 404)
            #expect(try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "1")
            try await eventually { Self.commands(bench.directory).last == "{\"close\"" ? true : nil }
        }
    }

    @Test func participantsArePlayedFromTheIngest() async throws {
        try await withWHEP { bench in
            try await bench.publishToIngest("bob")
            let bob = try await Self.watch(bench, "/whep/demo/bob/screen")
            #expect(bob.status == 201, "\(bob.text)")
            let line = try #require(ScriptedWHIPWorker.told(in: bench.directory).first { $0.hasPrefix("{\"play\"") })
            guard case .play(let source) = try JSONDecoder().decode(PlayCommand.self, from: Data(line.utf8)),
                case .publisher(let url) = source.origin
            else { throw TimedOut() }
            #expect(
                url.wholeMatch(
                    of: #/rtmp:\/\/127\.0\.0\.1:19350\/relay\/default\/demo\/bob\/screen\?relay=[0-9a-f]{64}/#)
                    != nil)
            #expect(!bench.log.text.contains(url))
            // A participant's viewers do not count as viewers of the program.
            #expect(try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "0")
            for missing in ["/whep/demo/carol", "/whep/nowhere/bob", "/whep/nowhere", "/whep/demo?task=other"] {
                let answer = try await Self.watch(bench, missing)
                #expect(answer.status == 404, "\(missing): \(answer.text)")
            }
        }
    }

    /// A stream at another server is pulled from there, within the addresses from which relays may pull.
    @Test func streamsOfOtherServersArePlayed() async throws {
        try await withWHEP { bench in
            let answer = try await Self.watch(bench, "/whep/demo/alice")
            #expect(answer.status == 201, "\(answer.text)")
            let plan = try await bench.plan { $0.mode == .bypass("alice/camera") }
            let source = try Self.lastSource(bench.directory)
            let reach = try #require(plan.sourceReach)
            #expect(source.origin == .server(url: "rtmp://127.0.0.1/live/alice", reach: reach))
            // The name of the stream is not secret; its URL may be.
            #expect(!source.stream.contains("/live/"))
            // Viewers share the connection.
            #expect(try await Self.watch(bench, "/whep/demo/alice").status == 201)
            #expect(Self.commands(bench.directory).count { $0 == "{\"play\"" } == 1)
            #expect(try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "0")
            // What she publishes elsewhere later is another stream: they are ended, and get it when they call again.
            try await Self.publish("alice", at: "rtmp://127.0.0.1/live/other", to: bench)
            #expect(try await Self.watch(bench, "/whep/demo/alice").status == 201)
            #expect(
                try Self.lastSource(bench.directory).origin == .server(url: "rtmp://127.0.0.1/live/other", reach: reach)
            )
            try await eventually {
                try await bench.call(.get, "/metrics").text.contains("webrtc_viewers 1") ? true : nil
            }
        }
    }

    /// The other server may go on playing a stream that the room has lost.
    @Test func viewersOfAStreamThatWasUnpublishedAreEnded() async throws {
        try await withWHEP { bench in
            try await bench.publish("bob")
            let alice = try await Self.watch(bench, "/whep/demo/alice")
            let bob = try await Self.watch(bench, "/whep/demo/bob")
            #expect(alice.status == 201 && bob.status == 201, "\(alice.text) \(bob.text)")
            try await bench.unpublish("bob")
            try await eventually { Self.commands(bench.directory).contains("{\"terminate\"") ? true : nil }
            try await eventually {
                try await bench.call(.get, "/metrics").text.contains("webrtc_viewers 1") ? true : nil
            }
            for (viewer, status) in [(alice, 204), (bob, 404)] {
                let answer = try await bench.call(
                    .patch, try #require(viewer.headers[.location]), WHIPRouteTests.candidates,
                    headers: WHIPRouteTests.fragment)
                #expect(answer.status == status, "\(answer.text)")
            }
            #expect(try await Self.watch(bench, "/whep/demo/bob").status == 404)
        }
    }

    /// Only RTMP needs no other process, which a viewers' worker may not start.
    @Test func streamsThatCannotBePlayedAloneAreExplained() async throws {
        try await withWHEP { bench in
            try await Self.publish("dave", at: "http://127.0.0.1/live/dave.flv", to: bench)
            let answer = try await Self.watch(bench, "/whep/demo/dave")
            #expect(answer.status == 422, "\(answer.text)")
            #expect(answer.headers[.contentType]?.hasPrefix("application/problem+json") == true)
            #expect(try answer.value("type") == "urn:mixorchestrator:problem:stream-elsewhere")
            #expect(try answer.value("field") == "user")
            #expect(try answer.value("detail")?.contains("not over RTMP: play the program of the room") == true)
            #expect(!answer.text.contains("dave.flv"))
            #expect(Self.commands(bench.directory) == [])
        }
    }

    @Test func workersThatFailAreExplained() async throws {
        try await withWHEP { bench in
            let refused = try await Self.watch(bench, "/whep/demo", .refuses)
            #expect(refused.status == 503 && refused.headers[.retryAfter] == "2")
            #expect(try refused.value("detail")?.hasPrefix("no path") == true, "\(refused.text)")
            #expect(!refused.text.contains("secret"))
            let left = try await Self.watch(bench, "/whep/demo", .leaves)
            #expect(left.status == 201)
            try await eventually {
                try await bench.call(.delete, try #require(left.headers[.location])).status == 404 ? true : nil
            }
            let dead = try await Self.watch(bench, "/whep/demo", .dies)
            #expect(dead.status == 503)
            // The next session gets another worker.
            let next = try await eventually {
                let answer = try await Self.watch(bench)
                return answer.status == 201 ? answer : nil
            }
            #expect(next.status == 201)
            let vp8 = ScriptedWHIPWorker.offer(video: "VP8/90000", direction: "recvonly")
            #expect(try await bench.call(.post, "/whep/demo", vp8, headers: WHIPRouteTests.sdp).status == 406)
            #expect(try await bench.call(.post, "/whep/demo", "hello", headers: WHIPRouteTests.sdp).status == 400)
        }
    }

    /// A program is public, as over HTTP-FLV; a participant's streams need a token.
    @Test func tokensAndSignaturesAreChecked() async throws {
        try await withWHEP(["playback.key": ["playback-key-0123456789"]]) { bench in
            let unsigned = try await Self.watch(bench)
            #expect(unsigned.status == 403)
            let time = Int(Date.now.timeIntervalSince1970) + 60
            let signature = PlaybackAccess.authKey(path: "/whep/demo", time: time, key: "playback-key-0123456789")
            #expect(try await Self.watch(bench, "/whep/demo?auth_key=\(signature)").status == 201)
            #expect(try await Self.watch(bench, "/whep/demo/alice?auth_key=\(signature)").status == 403)
        }
        let apps = AccessTests.apps()
        try await withDirectory { directory in
            let settings = try ScriptedWHIPWorker.settings(in: directory).merging(apps) { $1 }
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: settings) { bench in
                for (uri, token, status) in [
                    ("/whep/demo", nil, 404), ("/whep/demo", "read", 404), ("/whep/demo", "guessed", 401),
                    ("/whep/demo/alice", nil, 401), ("/whep/demo/alice", "read", 404),
                    ("/whep/demo/alice", "publish", 404),
                    ("/live/shop/demo.whep", nil, 404), ("/live/shop/demo.whep", "read", 403),
                ] as [(String, String?, Int)] {
                    let answer = try await Self.watch(bench, uri, token: token)
                    #expect(answer.status == status, "\(uri) \(token ?? "none"): \(answer.text)")
                }
            }
        }
    }

    /// A worker outlives the service, and its viewers keep their addresses in the next run.
    @Test func viewersSurviveTheService() async throws {
        try await withDirectory { directory in
            let session = LockedBox("")
            try await withWHEP(["relay.keep": ["true"]], in: directory) { bench in
                let made = try await Self.watch(bench)
                #expect(made.status == 201)
                session.value = try #require(made.headers[.location])
            }
            try await withWHEP(["relay.keep": ["true"]], in: directory) { bench in
                try await eventually {
                    try await bench.call(.get, "/metrics").text.contains("webrtc_viewers 1") ? true : nil
                }
                // A new viewer uses the same worker.
                #expect(try await Self.watch(bench).status == 201)
                #expect(Self.commands(directory).count { $0 == "{\"play\"" } == 1)
                let answer = try await bench.call(
                    .patch, session.value, WHIPRouteTests.candidates, headers: WHIPRouteTests.fragment)
                #expect(answer.status == 204, "\(answer.text)")
                #expect(try await bench.call(.delete, session.value).status == 200)
            }
            // The worker ends in a run without the setting.
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                try await eventually { Self.commands(directory).last == "{\"terminate\"" ? true : nil }
                try await eventually { WHIPRouteTests.files(bench).isEmpty ? true : nil }
            }
        }
    }
}
