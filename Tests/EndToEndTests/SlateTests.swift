import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// A slate that stays on air uses no mixer, and is entered and left like a mixed one.
@Suite(.serialized) struct SlateTests {
    /// Alice leaves and comes back, once into a bypass and once into a mix of her alone.
    @Test(.timeLimit(.minutes(5)), arguments: TestLength.of(short: ["auto"], long: ["auto", "never"]))
    func aSlateIsRepeatedWithoutAMixer(bypass: String) async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_RELAY_READY_MIXER": "false"]) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, gopSeconds: 1))
            let room = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: """
                    {"outputs": [{"id": "cdn", "url": "\(stage.media.cdn(stage.room))"}],
                     "policy": {"bypass": "\(bypass)"}}
                    """)
            #expect((200..<300).contains(room.status), "\(room.text)")
            try await stage.join("alice")
            let kind = bypass == "auto" ? "bypass" : "mix"
            try await stage.waitForOnAir(kind)
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(1))
            try await stage.leave("alice")
            try await stage.waitForOnAir("slate")
            try await waitUntil("no mixer is left") {
                !stage.workers.contains { $0.arguments.contains("mixer") }
            }
            let relay = try stage.relay()
            let before = try processorTicks(of: relay)
            try await Task.sleep(for: .seconds(5))
            #expect(!stage.workers.contains { $0.arguments.contains("mixer") })
            let share = Double(try processorTicks(of: relay) - before) / 5
            print("the relay takes \(share) % of a core for a repeated slate")
            #expect(share < 6)
            try await stage.join("alice")
            let task = try await stage.waitForOnAir(kind)
            #expect(task.outputs.map(\.reconnects) == [0])
            try await Task.sleep(for: .seconds(2))
            viewer.stop()
            let recording = await viewer.recording()
            #expect(recording.connections == 1 && recording.publisherLosses == 0)
            let trace = try recording.trace()
            for (name, track) in [("pictures", trace.video), ("sound", trace.audio)] {
                let times = track.map(\.frame.dts)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
                let steps = zip(times, times.dropFirst()).map { ($1 - $0).inMilliseconds }
                print("\(name): \(times.count), longest step \(steps.max() ?? 0) ms")
                #expect((steps.max() ?? 0) < 105, "\(steps.max() ?? 0) ms between \(name)")
            }
            let decoded = try SoundDecoder.decode(trace)
            #expect(decoded.errors.isEmpty, "\(decoded.errors)")
            let report = try await stage.judge(recording)
            #expect(report.decodeErrors.isEmpty, "\(report.decodeErrors)")
        }
    }

    /// Returns the processor time of a process, in 1/100 s (proc(5)).
    private func processorTicks(of process: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}
