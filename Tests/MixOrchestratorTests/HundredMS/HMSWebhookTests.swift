import Foundation
import HTTPTypes
import MixModel
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Webhooks of 100ms' interface over real HTTP.
@Suite(.timeLimit(.minutes(5))) struct HMSWebhookTests {
    private static let secret = "0123456789-webhook"

    private static func settings(_ receiver: WebhookReceiver) -> [String: [String]] {
        let webhook = [
            "hundredms.webhook.url": [receiver.url], "hundredms.webhook.header": ["X-Secret"],
            "hundredms.webhook.secret": [secret],
        ]
        return HMSCaller.settings.merging(webhook) { $1 }
    }

    private static func types(_ messages: [WebhookReceiver.Message]) -> [String] {
        messages.map { (try? $0.value("type")) ?? "" }
    }

    @Test func theyComeInOrderAndAgainUntil200() async throws {
        try await WebhookReceiver.run { receiver in
            // Only status 200 is success: the first webhook is sent again.
            let isFirst = LockedFlag()
            isFirst.value = true
            receiver.answer { _ in
                defer { isFirst.value = false }
                return .status(isFirst.value ? 202 : 200)
            }
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, settings: Self.settings(receiver)) { bench in
                    let caller = HMSCaller(bench: bench)
                    let publish = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#
                    #expect(try await bench.call(.post, "/v1/rooms/demo/events?app=shop", publish).status == 202)
                    let stream = try await caller.post(
                        "external-streams/room/demo/start", #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a"]}"#)
                    let id = try #require(try stream.value("id"))
                    try await eventually { receiver.taken.count == 1 ? true : nil }
                    let relay = try await TaskRouteTests.relay(bench, of: "shop/auto-demo")
                    let output = try #require(relay.plan?.outputs.destinations.first?.id)
                    relay.setOutput(DestinationStatus(id: output, state: .failed, lastError: "rtmp://a/b/key refuses"))
                    try await eventually { receiver.taken.count == 3 ? true : nil }
                    let types = ["beam.started.success", "beam.failure", "beam.stopped.success"]
                    #expect(Self.types(receiver.taken) == types)
                    #expect(Self.types(receiver.messages) == [types[0]] + types)
                    let first = receiver.messages[0]
                    #expect(first.header("x-secret") == Self.secret && first.header("webhook-signature") == nil)
                    #expect(try first.value("id") == receiver.messages[1].value("id"), "the same again")
                    #expect(try first.value("data.beam_id") == id)
                    let failure = receiver.messages[2]
                    #expect(try failure.value("data.error_type") == "MAX_RETRIES_REACHED")
                    #expect(!failure.body.contains("/b/key"), "\(failure.body)")
                    #expect(try receiver.messages[3].value("data.reason") == "failure: MAX_RETRIES_REACHED")
                    let view = try await eventually {
                        let view = try await caller.get("external-streams/\(id)")
                        return try view.value("status") == "failed" ? view : nil
                    }
                    #expect(try view.value("error.type") == "MAX_RETRIES_REACHED")
                }
            }
        }
    }

    /// The webhook suffices to fetch the file: its receiver needs no token.
    @Test func aRecordingComesWithItsURL() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                let name = "20260101T000000Z-a"
                try KeptFiles.makeRecording(directory, of: "shop/demo", name)
                let now = Date().timeIntervalSince1970
                var session = HMSSession(
                    id: HMSSession.newID(), kind: .externalStream, room: "shop/demo", session: "x",
                    accessKey: WireCaller.key, base: "http://localhost", at: now)
                (session.status, session.isComplete, session.holdsRoom) = (.completed, true, false)
                session.assets = [
                    HMSAsset(id: "a", kind: .composite, file: "\(name).mp4", size: 1000, duration: 1, createdAt: now)
                ]
                session.outbox = [HMSNotice(id: "n", event: .recorded, at: now)]
                try HMSFiles(data: directory).write(session)
                try await withOrchestrator(directory: directory, settings: Self.settings(receiver)) { bench in
                    let message = try await eventually { receiver.taken.first }
                    let url = try #require(try message.value("data.recording_presigned_url"))
                    try #require(url.hasPrefix("http://localhost/"), "\(url)")
                    let file = try await bench.call(.get, String(url.dropFirst("http://localhost".count)))
                    #expect(file.status == 200 && file.headers[.contentLength] == "1000")
                }
            }
        }
    }

    /// A restarted service delivers the webhooks of the last run and takes over its sessions.
    @Test func theNextRunGoesOn() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                let now = Date().timeIntervalSince1970
                var waiting = HMSSession(
                    id: HMSSession.newID(), kind: .externalStream, room: "shop/demo", session: "x",
                    accessKey: WireCaller.key, base: "", at: now)
                waiting.isComplete = true
                waiting.holdsRoom = false
                waiting.status = .completed
                waiting.outbox = [HMSNotice(id: "n1", event: .stopped, at: now)]
                var begun = HMSSession(
                    id: HMSSession.newID(), kind: .liveStream, room: "shop/demo", session: "x",
                    accessKey: WireCaller.key, base: "", at: now)
                begun.hls = HMSSession.HLS(keepsSegments: false, recordsFile: false, isOwn: true)
                let files = try HMSFiles(data: directory)
                for session in [waiting, begun] { try files.write(session) }
                try await withOrchestrator(directory: directory, settings: Self.settings(receiver)) { bench in
                    try await eventually { receiver.taken.count == 3 ? true : nil }
                    #expect(
                        Set(Self.types(receiver.taken))
                            == ["beam.stopped.success", "hls.failure", "hls.stopped.success"])
                    try await eventually {
                        files.found().allSatisfy(\.outbox.isEmpty) ? true : nil
                    }
                    #expect(try await HMSCaller(bench: bench).get("live-streams").value("data.0.status") == "failed")
                }
            }
        }
    }
}
