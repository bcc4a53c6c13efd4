import Foundation
import HTTPTypes
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// WHIP over HTTP, with a scripted process at the other end of the worker's socket.
@Suite(.timeLimit(.minutes(3))) struct WHIPRouteTests {
    static let sdp: HTTPFields = [.contentType: "application/sdp"]
    static let fragment: HTTPFields = [.contentType: "application/trickle-ice-sdpfrag"]
    static let candidates =
        "a=ice-ufrag:\(ScriptedWHIPWorker.iceName)\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"
        + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host\r\n"
    static let restart = "a=ice-ufrag:next\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n"

    func withWHIP(
        _ settings: [String: [String]] = [:], in directory: String? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        @Sendable func run(_ directory: String) async throws {
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(),
                settings: ScriptedWHIPWorker.settings(in: directory).merging(settings) { $1 }, body)
        }
        if let directory { return try await run(directory) }
        try await withDirectory { try await run($0) }
    }

    static func files(_ bench: Bench) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: bench.directory + "/webrtc")) ?? [])
            .filter { !$0.hasSuffix(".log") }
    }

    @Test func aSessionBeginsChangesAndEnds() async throws {
        try await withWHIP([
            "webrtc.stun": ["stun:stun.example:3478"],
            "webrtc.turn.url": ["turn:turn.example:3478?transport=tcp, turns:turn.example:443"],
            "webrtc.turn.user": ["mixer"], "webrtc.turn.password": ["turn-password-0123"],
            "webrtc.publicAddress": ["203.0.113.7"], "webrtc.ports": ["50000-50010"],
        ]) { bench in
            let made = try await bench.call(
                .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
            #expect(made.status == 201, "\(made.text)")
            #expect(made.text == "v=0\r\ns=answer\r\n")
            #expect(made.headers[.contentType] == "application/sdp")
            #expect(made.headers[.eTag] == "\"ice-1\"")
            #expect(try made.headers[#require(HTTPField.Name("Accept-Patch"))] == "application/trickle-ice-sdpfrag")
            let links = made.headers[values: try #require(HTTPField.Name("Link"))]
            #expect(
                links == [
                    "<stun:stun.example:3478>; rel=\"ice-server\"",
                    "<turn:turn.example:3478?transport=tcp>; rel=\"ice-server\"; username=\"mixer\"; "
                        + "credential=\"turn-password-0123\"; credential-type=\"password\"",
                    "<turns:turn.example:443>; rel=\"ice-server\"; username=\"mixer\"; "
                        + "credential=\"turn-password-0123\"; credential-type=\"password\"",
                ])
            let session = try #require(made.headers[.location])
            #expect(session.wholeMatch(of: #/\/whip-sessions\/[0-9a-f]{32}/#) != nil)

            let told = ScriptedWHIPWorker.told(in: bench.directory)
            #expect(told.first?.hasPrefix("argv whip --socket \(bench.directory)/webrtc/") == true)
            #expect(told.first?.contains("turn-password") == false)
            let publish = try #require(told.first { $0.hasPrefix("{\"publish\"") })
            let publisher = try JSONDecoder().decode(WebRTCCommand.self, from: Data(publish.utf8))
            guard case .publish(let publisher) = publisher else { throw TimedOut() }
            #expect(publisher.offer == ScriptedWHIPWorker.offer())
            #expect(
                publisher.target.wholeMatch(
                    of: #/rtmp://127\.0\.0\.1:19350/publish/default/show/alice/camera\?proof=[0-9a-f]{64}/#) != nil)
            #expect(publisher.network.publicAddress == "203.0.113.7")
            #expect(publisher.network.ports == .init(lowest: 50_000, highest: 50_010))
            #expect(publisher.network.stun == "stun://stun.example:3478")
            #expect(publisher.network.turn == ["turn://mixer:turn-password-0123@turn.example:3478"])

            // Candidates are accepted with and without the ETag.
            for match in ["\"ice-1\"", "*", nil] {
                var headers = Self.fragment
                headers[.ifMatch] = match
                #expect(try await bench.call(.patch, session, Self.candidates, headers: headers).status == 204)
            }
            // Another ICE name restarts ICE, if the request has a matching precondition.
            #expect(try await bench.call(.patch, session, Self.restart, headers: Self.fragment).status == 409)
            var headers = Self.fragment
            headers[.ifMatch] = "*"
            let restarted = try await bench.call(.patch, session, Self.restart, headers: headers)
            #expect(restarted.status == 200 && restarted.text.hasPrefix("a=ice-ufrag:new1"), "\(restarted.text)")
            #expect(restarted.headers[.eTag] == "\"ice-2\"")
            headers[.ifMatch] = "\"ice-1\""
            #expect(try await bench.call(.patch, session, Self.candidates, headers: headers).status == 412)
            let broken = try await bench.call(.patch, session, "hello", headers: Self.fragment)
            #expect(broken.status == 400, "\(broken.text)")
            #expect(try await bench.call(.patch, session, Self.candidates, headers: Self.sdp).status == 415)

            let metrics = try await bench.call(.get, "/metrics").text
            #expect(metrics.contains("webrtc_publishers 1"))
            #expect(metrics.contains("webrtc_lost_packets_total 3"))
            #expect(metrics.contains("webrtc_sessions_total{result=\"opened\"} 1"))

            #expect(try await bench.call(.delete, session).status == 200)
            #expect(try await bench.call(.delete, session).status == 404)
            #expect(try await bench.call(.patch, session, Self.candidates, headers: Self.fragment).status == 404)
            try await eventually {
                ScriptedWHIPWorker.told(in: bench.directory).last == "{\"terminate\":{}}" ? true : nil
            }
            try await eventually { Self.files(bench).isEmpty ? true : nil }
            let commands = ScriptedWHIPWorker.told(in: bench.directory).dropFirst().map { $0.prefix { $0 != ":" } }
            #expect(
                commands == [
                    "{\"hello\"", "{\"publish\"", "{\"candidates\"", "{\"candidates\"", "{\"candidates\"",
                    "{\"restart\"", "{\"terminate\"",
                ])
            #expect(!bench.log.text.contains("turn-password") && !bench.log.text.contains("proof="))
        }
    }

    /// RFC 9725 §4.3 requires 422 from a server that supports trickle ICE but not restarts, or the reverse.
    @Test func aWorkerMayRefuseToRestartICE() async throws {
        try await withWHIP { bench in
            let made = try await bench.call(
                .post, "/whip/show/alice", ScriptedWHIPWorker.offer(.steady), headers: Self.sdp)
            let session = try #require(made.headers[.location])
            var headers = Self.fragment
            headers[.ifMatch] = "*"
            let answer = try await bench.call(.patch, session, Self.restart, headers: headers)
            #expect(answer.status == 422, "\(answer.text)")
            #expect(try answer.value("detail") == "webrtcbin does not restart ICE")
            // The session continues.
            #expect(try await bench.call(.patch, session, Self.candidates, headers: headers).status == 204)
        }
    }

    @Test func whatCannotBeTakenStartsNothing() async throws {
        try await withWHIP { bench in
            func refused(
                _ body: String, _ headers: HTTPFields = Self.sdp, _ uri: String = "/whip/show/alice"
            ) async throws -> Answer { try await bench.call(.post, uri, body, headers: headers) }
            let vp8 = try await refused(ScriptedWHIPWorker.offer(video: "VP8/90000"))
            #expect(vp8.status == 406)
            #expect(try vp8.value("detail")?.contains("no H.264 video with packetization-mode=1, only VP8") == true)
            let broken = try await refused("hello")
            #expect(broken.status == 400)
            #expect(try broken.value("type") == "urn:mixorchestrator:problem:offer-malformed")
            let json = try await refused("{}", [.contentType: "application/json"])
            #expect(json.status == 415)
            #expect(try json.value("expected") == "application/sdp")
            #expect(try await refused("{}", [:]).status == 415)
            let large = ScriptedWHIPWorker.offer() + String(repeating: "a=x\r\n", count: 16_000)
            #expect(try await refused(large).status == 413)
            #expect(try await refused(ScriptedWHIPWorker.offer(), Self.sdp, "/whip/show/%20").status == 422)
            let app = try await refused(ScriptedWHIPWorker.offer(), Self.sdp, "/whip/nobody/show/alice")
            #expect(app.status == 422, "\(app.text)")
            let unknown = "/whip-sessions/" + String(repeating: "0", count: 32)
            #expect(try await bench.call(.delete, unknown).status == 404)
            #expect(ScriptedWHIPWorker.told(in: bench.directory).isEmpty)
            #expect(Self.files(bench).isEmpty)
        }
    }

    @Test func workersThatFailAreExplained() async throws {
        try await withWHIP { bench in
            func call(_ behaviour: ScriptedWHIPWorker.Behaviour) async throws -> Answer {
                try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(behaviour), headers: Self.sdp)
            }
            let refused = try await call(.refuses)
            #expect(refused.status == 503 && refused.headers[.retryAfter] == "2")
            #expect(try refused.value("detail")?.hasPrefix("the element nicesrc is missing") == true)
            #expect(!refused.text.contains("secret"))
            let dead = try await call(.dies)
            #expect(dead.status == 503)
            #expect(try dead.value("detail") == "the worker exited with status 7")
            let start = ContinuousClock.now
            let silent = try await call(.silent)
            #expect(silent.status == 503)
            #expect(try silent.value("detail") == "the worker did not answer within 5 s")
            #expect((.seconds(5)..<Duration.seconds(30)).contains(ContinuousClock.now - start))
            // The session of a client that leaves is gone.
            let made = try await call(.leaves)
            #expect(made.status == 201)
            let session = try #require(made.headers[.location])
            // A DELETE would end the session too early.
            try await eventually { Self.files(bench).isEmpty ? true : nil }
            try await eventually { try await bench.call(.delete, session).status == 404 ? true : nil }
            try await eventually {
                bench.log.text.contains("a WebRTC publisher has ended: the client was silent for 3 s") ? true : nil
            }
            #expect(!bench.log.text.contains("/x/secret"))
        }
        try await withWHIP(["worker": ["/nowhere/mixworker"]]) { bench in
            let answer = try await bench.call(
                .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
            #expect(answer.status == 503)
            #expect(try answer.value("detail")?.hasPrefix("mixworker is not at /nowhere/mixworker: build it") == true)
        }
    }

    @Test func placesAreLimited() async throws {
        try await withWHIP([
            "apps.0.id": ["shop"], "webrtc.maxPublishers": ["2"], "webrtc.maxPublishersPerApp": ["1"],
        ]) { bench in
            func call(_ uri: String) async throws -> Answer {
                try await bench.call(.post, uri, ScriptedWHIPWorker.offer(), headers: Self.sdp)
            }
            let first = try await call("/whip/show/alice")
            #expect(first.status == 201)
            let second = try await call("/whip/show/bob/screen")
            #expect(second.status == 429 && second.headers[.retryAfter] == "10")
            #expect(try second.value("detail")?.contains("webrtc.maxPublishersPerApp") == true)
            let other = try await call("/whip/shop/show/bob/screen")
            #expect(other.status == 201)
            let told = ScriptedWHIPWorker.told(in: bench.directory).joined()
            #expect(
                told.contains("publish\\/shop\\/show\\/bob\\/screen") || told.contains("publish/shop/show/bob/screen"))
            #expect(try await call("/whip/shop/show/carol").status == 503)
            #expect(try await bench.call(.delete, try #require(first.headers[.location])).status == 200)
            #expect(try await call("/whip/show/dora").status == 201)
            // The client starts too many sessions in one second.
            let often = try await eventually {
                let answer = try await call("/whip/show/eve")
                return answer.headers[.retryAfter] != "10" ? answer : nil
            }
            #expect(often.status == 429)
            #expect(try often.value("type") == "urn:mixorchestrator:problem:rate-limited")
        }
    }

    /// Half of the places are kept, the same number for each app.
    @Test func anAppLeavesOthersTheirPlaces() async throws {
        try await withWHIP(["apps.0.id": ["shop"], "webrtc.maxPublishers": ["3"]]) { bench in
            func call(_ uri: String) async throws -> Answer {
                try await bench.call(.post, uri, ScriptedWHIPWorker.offer(), headers: Self.sdp)
            }
            for user in ["alice", "bob"] { #expect(try await call("/whip/show/\(user)").status == 201) }
            let third = try await call("/whip/show/carol")
            #expect(third.status == 503 && third.headers[.retryAfter] == "10", "\(third.text)")
            let words = try #require(try third.value("detail"))
            #expect(words.hasPrefix("the app default has 2 of the 3 places"), "\(words)")
            #expect(words.hasSuffix("raise webrtc.maxPublishers"), "\(words)")
            #expect(try await call("/whip/shop/show/carol").status == 201)
        }
    }

    /// With the real ingest, and a real publisher at the URL that a worker gets.
    @Test func whatAWorkerPublishesIsInTheRoom() async throws {
        let reserved = try ReservedPort()
        defer { withExtendedLifetime(reserved) {} }
        let port = reserved.number
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(),
                settings: ScriptedWHIPWorker.settings(in: directory, port: port)
            ) { bench in
                try await eventually { bench.log.text.contains("RTMP ingest on") ? true : nil }
                let made = try await bench.call(
                    .post, "/whip/show/alice/screen", ScriptedWHIPWorker.offer(.publishes), headers: Self.sdp)
                #expect(made.status == 201, "\(made.text)")
                try await bench.plan {
                    $0.sources.contains {
                        $0.url.hasPrefix("rtmp://127.0.0.1:\(port)/relay/default/show/alice/screen?")
                    }
                }
                let room = try await bench.call(.get, "/v1/rooms/show")
                #expect(try room.value("participants.0.streams.0.stream") == "screen", "\(room.text)")
                let told = ScriptedWHIPWorker.told(in: directory).first { $0.hasPrefix("{\"publish\"") } ?? ""
                let proof = try #require(told.firstMatch(of: #/proof=([0-9a-f]{64})/#)?.1)
                #expect(!bench.log.text.contains(proof))
                #expect(try await bench.call(.delete, try #require(made.headers[.location])).status == 200)
                // The stream ends with its publisher, which said that it leaves.
                try await eventually {
                    let room = try await bench.call(.get, "/v1/rooms/show")
                    return try room.value("participants.0.streams.0.stream") == nil ? true : nil
                }
            }
        }
    }

    /// A worker outlives the service, as the ingest does, and its session keeps its address in the next run.
    @Test func sessionsSurviveTheService() async throws {
        try await withDirectory { directory in
            let session = LockedBox("")
            try await withWHIP(["relay.keep": ["true"]], in: directory) { bench in
                let made = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
                #expect(made.status == 201)
                session.value = try #require(made.headers[.location])
                var headers = Self.fragment
                headers[.ifMatch] = "*"
                #expect(try await bench.call(.patch, session.value, Self.restart, headers: headers).status == 200)
            }
            #expect(ScriptedWHIPWorker.told(in: directory).last?.hasPrefix("{\"restart\"") == true)
            try await withWHIP(["relay.keep": ["true"]], in: directory) { bench in
                try await eventually {
                    ScriptedWHIPWorker.told(in: directory).last?.hasPrefix("{\"hello\"") == true ? true : nil
                }
                var headers = Self.fragment
                headers[.ifMatch] = "\"ice-2\""
                let next = Self.candidates.replacing(ScriptedWHIPWorker.iceName, with: "next")
                let answer = try await eventually {
                    let answer = try await bench.call(.patch, session.value, next, headers: headers)
                    return answer.status == 404 ? nil : answer
                }
                #expect(answer.status == 204, "\(answer.text)")
                #expect(try await bench.call(.delete, session.value).status == 200)
                try await eventually { Self.files(bench).isEmpty ? true : nil }
            }
            try await Self.waitForTermination(in: directory)
        }
    }

    private static func waitForTermination(in directory: String) async throws {
        try await eventually("the worker is not told to end") {
            ScriptedWHIPWorker.told(in: directory).last == "{\"terminate\":{}}" ? true : nil
        }
    }

    /// Without `relay.keep` sessions end with the service, and a session whose setting is gone ends in the next run.
    @Test func sessionsEndWithTheService() async throws {
        try await withDirectory { directory in
            try await withWHIP(in: directory) { bench in
                let made = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
                #expect(made.status == 201)
            }
            try await Self.waitForTermination(in: directory)
            try await withWHIP(["relay.keep": ["true"]], in: directory) { bench in
                let made = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
                #expect(made.status == 201)
            }
            #expect(ScriptedWHIPWorker.told(in: directory).last?.hasPrefix("{\"publish\"") == true)
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                _ = try await eventually { Self.files(bench).isEmpty ? true : nil }
            }
            try await Self.waitForTermination(in: directory)
        }
    }
}
