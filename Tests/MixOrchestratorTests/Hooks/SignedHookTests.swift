import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MixModel
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Media servers that sign their callbacks and have their own identifiers, as RTC clouds do.
@Suite(.timeLimit(.minutes(2))) struct SignedHookTests {
    /// A callback of the form `room user id`, signed in a header and answered as TRTC expects.
    private struct SignedHook: EventHook {
        let name = "signed"
        let signsBody = true
        let example = HookRequest(method: .post, body: Array("lobby alice 1".utf8))

        static func signature(_ body: String, _ secret: String) -> String {
            Data(HookSignature.hmac(.sha256, of: Array(body.utf8), key: HookSecret(secret))).base64EncodedString()
        }

        func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
            guard let sign = request.header("sign").flatMap({ Data(base64Encoded: $0) }) else { return false }
            return HookSignature.areEqual(Array(sign), HookSignature.hmac(.sha256, of: request.body, key: secret))
        }

        func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
            let words = String(decoding: request.body, as: UTF8.self).split(separator: " ").map { String($0) }
            guard words.count == 3 else { return .ignored("other") }
            let user = UserID(try EventParser.identifier(words[1], field: "user"))
            let event = HookEvent(
                room: RoomID(try EventParser.identifier(words[0], field: "room")),
                kind: .participantJoined(user: user, role: nil, name: nil), id: words[2])
            return HookOutcome(call: "103", weight: .informative, events: [event])
        }

        func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
            if case .accepted = verdict { return HookAnswer(json: #"{"code":0}"#) }
            return HookAnswer(status: 503, json: #"{"code":1}"#)
        }
    }

    private static let secret = "signing-secret-0123456789"

    private func withHook(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await withDirectory { directory in
            var configuration = try testConfiguration(directory, ["http.rate.failures": ["0"]])
            configuration.hooks.settings["signed"] = HookSettings(
                secret: HookSecret(Self.secret), names: try NamePatterns([]))
            let (log, relays, store) = (LogRecorder(), ScriptedRelays(), MemoryTaskStore())
            let application = try await buildOrchestrator(
                configuration, store: store, starter: relays, logger: log.logger,
                hooks: EventHooks.all + [SignedHook()])
            try await application.test(.live) { client in
                try await body(
                    Bench(client: client, relays: relays, store: store, directory: directory, log: log))
            }
        }
    }

    private func send(_ bench: Bench, _ body: String, signed: String? = nil, query: String = "") async throws -> Answer
    {
        var headers: HTTPFields = [:]
        if let signed, let name = HTTPField.Name("Sign") {
            headers[name] = SignedHook.signature(signed, Self.secret)
        }
        return try await bench.call(.post, "/v1/hooks/signed" + query, body, headers: headers)
    }

    @Test func theSignatureCoversTheBytes() async throws {
        try await withHook { (bench: Bench) async throws in
            let body = "lobby alice 1"
            let answer = try await send(bench, body, signed: body)
            #expect(answer.status == 200 && answer.text == #"{"code":0}"#)
            #expect(answer.headers[.contentType] == "application/json")
            #expect(try await send(bench, "lobby eve 2", signed: body).status == 401)
            #expect(try await send(bench, body).status == 401)
            // The secret in the query is not accepted in place of a signature.
            #expect(try await send(bench, "lobby eve 3", query: "?token=\(Self.secret)").status == 401)
            #expect(
                try await send(bench, "something else entirely new", signed: "something else entirely new").status
                    == 200)
            let room = try await bench.call(.get, "/v1/rooms/lobby")
            #expect(try room.value("participants.0.user") == "alice" && room.value("participants.1.user") == nil)
        }
    }

    @Test func aRepeatedIdentifierIsADuplicate() async throws {
        try await withHook { (bench: Bench) async throws in
            for _ in 0..<3 { #expect(try await send(bench, "lobby alice 1", signed: "lobby alice 1").status == 200) }
            let metrics = try await bench.call(.get, "/metrics").text
            #expect(metrics.contains("events_total{outcome=\"duplicate\"} 2\n"))
            #expect(metrics.contains("hook_calls_total{hook=\"signed\",result=\"accepted\"} 1\n"))
        }
    }

    @Test func longBodiesOfStrangersAreNotRead() async throws {
        try await withHook { (bench: Bench) async throws in
            let long = String(repeating: "a", count: HookRequest.longestBody + 1)
            #expect(try await send(bench, long, signed: long).status == 413)
            #expect(try await bench.call(.get, "/v1/hooks/signed").status == 405)
        }
    }
}
