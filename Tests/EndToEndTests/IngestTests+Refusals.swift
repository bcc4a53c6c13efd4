import Foundation
import Testing

@testable import ViewerProbe

/// Messages about publishers that are refused.
extension IngestTests {
    private static let signingKey = "ingest-key-0123456789"

    /// A publisher that is refused.
    private struct Refused {
        var user: String
        var arguments: [String]
        /// Part of the message.
        var words: String
        /// Whether the stream key names the room on air. Nothing else has a timeline.
        var namesRoom = true
    }

    /// Each bad input has one message, at the publisher, in the log, and in the timeline of the room on air.
    @Test(.timeLimit(.minutes(15))) func everyRefusalIsToldInEachPlace() async throws {
        let port = HookingMediaServer.anyPort()
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_KEY"] = Self.signingKey
        try await Stage.run(environment: environment) { stage in
            try await Self.waitForIngest(stage, port)
            let place = "rtmp://127.0.0.1:\(port)/live/"
            func signed(_ name: String, ttl: Int = 600) async throws -> String {
                let signer = try ManagedProcess(
                    "sign-\(name)", Workspace.executable("mixorchestrator"),
                    ["sign-url", place + name, "--ttl", "\(ttl)"], in: stage.directory,
                    environment: ["MIXORCHESTRATOR_INGEST_KEY": Self.signingKey])
                try await waitUntil("signed") { !signer.isRunning }
                let line = signer.messages().split(separator: "\n").first { $0.hasPrefix("rtmp://") }
                return String(try #require(line, "\(signer.messages())"))
            }
            let expired = try await signed("\(stage.room)__carol", ttl: 0)
            let signedAt = ContinuousClock.now
            let alice = try ManagedProcess(
                "publisher-alice", "ffmpeg",
                Self.source(1).arguments(url: try await signed("\(stage.room)__alice")), in: stage.directory)
            try await stage.waitForOnAir("bypass")
            // Timestamps have whole seconds.
            try await waitUntil("a URL has expired") { ContinuousClock.now - signedAt > .seconds(2) }

            let sorenson = [
                "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-re", "-f", "lavfi", "-i",
                "testsrc=s=320x240:r=20", "-re", "-f", "lavfi", "-i", "sine=r=44100", "-c:v", "flv1", "-c:a", "aac",
                "-f", "flv", try await signed("\(stage.room)__dave"),
            ]
            let refused = [
                Refused(
                    user: "bob", arguments: Self.source(2).arguments(url: "\(place)\(stage.room)__bob"),
                    words: "the stream key has no auth_key"),
                Refused(
                    user: "erin", arguments: Self.source(2).arguments(url: try await signed("erin")),
                    words: "the stream key is in no room: the name does not fit", namesRoom: false),
                Refused(
                    user: "dave", arguments: sorenson,
                    words: "video codec Sorenson H.263 is not supported: publish H.264"),
                Refused(
                    user: "carol", arguments: Self.source(2).arguments(url: expired), words: "the URL expired "),
            ]
            for publisher in refused {
                // A room gets one entry about its publishers in 10 s, so that strangers cannot flood its timeline.
                var places: [String: Bool] = [:]
                var last = ""
                try await waitUntil("\(publisher.words): \(places), \(last)", every: 3000) {
                    let process = try ManagedProcess(
                        "publisher-\(publisher.user)-\(UInt16.random(in: 0...9999))", "ffmpeg", publisher.arguments,
                        in: stage.directory)
                    try await waitUntil("\(publisher.user) is refused") { !process.isRunning }
                    last = process.messages()
                    let beginning = "publisher refused: \(publisher.user)/camera: "
                    let timeline = try await stage.client.timeline(stage.room)
                    places = [
                        "publisher": last.contains(publisher.words),
                        "log": stage.service.messages(last: .max).contains(publisher.words),
                        "timeline": timeline.contains { $0.contains(beginning) && $0.contains(publisher.words) }
                            == publisher.namesRoom,
                    ]
                    return places.values.allSatisfy(\.self)
                }
            }
            #expect(alice.isRunning, "\(alice.messages())")
            #expect(try await stage.client.users(stage.room) == ["alice"])
            #expect(!stage.service.messages(last: .max).contains("auth_key="), "the log shows a signature")
            await alice.stop()
        }
    }
}
