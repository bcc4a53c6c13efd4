import Foundation
import LayoutEngine
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ViewerProbe

/// Programs whose participants are listed by name, as seen by a viewer.
@Suite(.serialized) struct ProgramTests {
    private static let single = #"{"program": {"composition": {"mode": "single", "source": {"user": "alice"}}}}"#

    /// Returns two panes beside each other.
    private static func panes(_ second: String = #"{"user": "bob"}"#) -> String {
        """
        {"program": {"composition": {"mode": "fixed", "panes": [
            {"x": 0, "y": 0, "width": 0.5, "height": 1, "source": {"user": "alice"}},
            {"x": 0.5, "y": 0, "width": 0.5, "height": 1, "source": \(second)}]}}}
        """
    }

    private static func patch(_ stage: Stage, _ body: String) async throws {
        let answer = try await stage.client.request(
            "PATCH", "/v1/tasks/auto-\(stage.room)", json: body, headers: ["If-Match": "*"])
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Returns the texts of our own user data in a recording, with their times in ms.
    private static func messages(_ recorder: ProbeRecorder) async throws -> [(time: Int64, text: String)] {
        let trace = try await recorder.recording().trace()
        var found: [(time: Int64, text: String)] = []
        for entry in trace.video {
            for unit in NALUnits(entry.frame.payload) where unit.first == 6 {
                // None of our data holds two zeros in a row, so there are no emulation prevention bytes.
                var bytes = Array(unit).dropFirst()
                // ITU-T H.264, 7.3.2.3.1: messages one after another; 0x80 ends them.
                while bytes.count > 2 {
                    let type = bytes.removeFirst()
                    var size = 0
                    while let byte = bytes.popFirst() {
                        size += Int(byte)
                        if byte < 255 { break }
                    }
                    let payload = bytes.prefix(size)
                    bytes = bytes.dropFirst(size)
                    guard type == 5, Array(payload.prefix(16)) == SEIMessage.uuid else { continue }
                    found.append(
                        (entry.frame.pts.roundedMilliseconds, String(decoding: payload.dropFirst(16), as: UTF8.self)))
                }
            }
        }
        return found
    }

    /// The flow of a co-streaming app server: one participant, both in two panes, one again. Every limit of the
    /// automatic flow holds, and players are told of both changes.
    @Test(.timeLimit(.minutes(6))) func oneThenTwoPanesThenOne() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await Self.patch(stage, Self.single)
            try await Self.patch(
                stage,
                #"{"program": {"sei": {"layoutVolume": {"intervalMs": 1000, "followIdr": true}, "wallClock": {"intervalMs": 0}}}}"#
            )
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(3))
            try await stage.join("bob")
            try await Task.sleep(for: .seconds(1))
            try await stage.waitForOnAir("bypass")
            for _ in 0..<2 {
                try await Self.patch(stage, Self.panes())
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await Task.sleep(for: .seconds(2.5))
                try await Self.patch(stage, Self.single)
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .seconds(2.5))
            }
            let relay = try stage.relay()
            try await Self.patch(stage, #"{"program": {"sei": {"custom": "{\"goal\":1}"}}}"#)
            try await Task.sleep(for: .seconds(2))
            #expect(try stage.relay() == relay)
            let report = try await stage.judge(viewer, expectedSwitches: 4)
            #expect(report.isWithinLimits, "\(report.table)")
            let messages = try await Self.messages(viewer)
            let layouts = messages.filter { $0.text.contains("\"ver\":\"20190611\"") }
            // A copied stream is not decoded, so its volume is unknown.
            let alone = layouts.filter { !$0.text.contains("volume") }
            let both = layouts.filter { $0.text.contains("\"uid\":\"alice\"") && $0.text.contains("\"uid\":\"bob\"") }
            #expect(alone.count >= 4, "\(messages)")
            #expect(alone.allSatisfy { $0.text.contains("\"uid\":\"alice\"") && !$0.text.contains("\"uid\":\"bob\"") })
            #expect(both.count >= 2, "\(messages.map(\.time))")
            // Their tones have a volume.
            #expect(both.contains { $0.text.range(of: #""volume":[1-9]"#, options: .regularExpression) != nil })
            #expect(both.allSatisfy { $0.text.contains("\"w\":360") && $0.text.contains("\"x\":360") })
            let gaps = zip(layouts, layouts.dropFirst()).map { $1.time - $0.time }
            #expect(gaps.allSatisfy { $0 <= 1100 }, "\(gaps)")
            #expect(messages.contains { $0.text == "{\"goal\":1}" })
            // The time of day stays with the frames, even across switches, where they wait or come in a burst.
            let clock = messages.compactMap { message in
                message.text.wholeMatch(of: #/\{"ts":(\d+)\}/#).flatMap { Int64($0.1) }.map { ($0, message.time) }
            }
            #expect(clock.count >= 4, "\(messages)")
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            #expect(clock.allSatisfy { (now - 600_000...now).contains($0.0) })
            let steps = zip(clock, clock.dropFirst()).map { ($1.0 - $0.0) - ($1.1 - $0.1) }
            #expect(steps.allSatisfy { abs($0) <= 3 }, "\(steps)")
        }
    }

    /// Another encoding needs another mixer. The old one continues, with motion, until the new one takes over, and is
    /// not replaced by one participant's packets meanwhile.
    @Test(.timeLimit(.minutes(6))) func anotherEncodingOnAir() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await Self.patch(stage, Self.single)
            let viewer = try await stage.watch()
            try await stage.join("bob")
            try await Task.sleep(for: .seconds(2))
            try await Self.patch(stage, Self.panes())
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(2.5))
            let before = try await stage.client.task(stage.room)?.state.switches.count ?? 0
            try await Self.patch(stage, #"{"program": {"encoding": {"videoBitrate": 500000, "preset": "ultrafast"}}}"#)
            try await waitUntil("another mixer is on air") {
                try await stage.client.task(stage.room)?.state.switches.count ?? 0 > before
            }
            try await Task.sleep(for: .seconds(3))
            try await Self.patch(
                stage,
                """
                {"program": {"encoding": null, "composition": {"mode": "single", "source": {"user": "alice"}}}}
                """)
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2.5))
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
        }
    }

    /// A pane shows a participant of another room.
    @Test(.timeLimit(.minutes(6))) func aPaneOfAnotherRoom() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("carol", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await Self.patch(stage, Self.single)
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            try await Self.patch(stage, Self.panes(#"{"user": "carol", "room": "next"}"#))
            try await stage.waitForOnAir("mix")
            try await Task.sleep(for: .seconds(1))
            try await stage.client.published("next", user: "carol", url: stage.media.live("carol"))
            try await stage.waitForOnAir("mix", users: ["alice", "carol"])
            try await Task.sleep(for: .seconds(2.5))
            try await Self.patch(stage, Self.single)
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(Set(report.sources.map(\.id)) == [1, 2])
        }
    }

    /// A program without pictures: one participant's packets, then a mix, then packets again.
    @Test(.timeLimit(.minutes(6))) func soundAlone() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640))
            let made = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: """
                    {"outputs": [{"id": "cdn", "url": "\(stage.media.cdn(stage.room))"}],
                     "program": {"encoding": {"audioOnly": true}}}
                    """)
            #expect(made.status == 201, "\(made.text)")
            try await stage.join("alice")
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix")
            try await Task.sleep(for: .seconds(3))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            viewer.stop()
            let trace = try await viewer.recording().trace()
            #expect(trace.video.isEmpty, "\(trace.video.count) pictures")
            #expect(trace.configurations.allSatisfy { $0.track == .audio })
            let times = trace.audio.map(\.frame.pts.roundedMilliseconds)
            #expect(times.count > 100)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(gaps.allSatisfy { 20...23 ~= $0 }, "\(gaps.filter { !(20...23 ~= $0) })")
        }
    }

    /// A mix with its own sound format: its header comes at its first frame, and no sound is missing.
    @Test(.timeLimit(.minutes(6))) func aMixInAnotherFormatThanItsHost() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.open(host: "alice")
            try await Self.patch(stage, Self.single)
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            try await Self.patch(
                stage,
                """
                {"program": {"composition": {"mode": "fixed", "panes": [{"x": 0, "y": 0, "width": 1, "height": 1}]},
                 "encoding": {"audioSampleRate": 32000, "audioChannels": 1, "audioBitrate": 48000, "profile": "main",
                              "videoBitrate": 800000, "gopFrames": 10}}}
                """)
            try await stage.waitForOnAir("mix", users: ["alice"])
            try await Task.sleep(for: .seconds(3))
            try await Self.patch(stage, Self.single)
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            viewer.stop()
            let trace = try await viewer.recording().trace()
            // A media server may repeat headers.
            let sounds = trace.configurations.filter { $0.track == .audio }.reduce(into: [CodecConfiguration]()) {
                if $0.last != $1 { $0.append($1) }
            }.compactMap { AudioSpecificConfig($0.bytes) }
            #expect(sounds.map(\.sampleRate) == [48000, 32000, 48000])
            #expect(sounds.map(\.channels) == [2, 1, 2])
            let frames = trace.audio.map { ($0.frame.pts.roundedMilliseconds, $0.configuration) }
            for (before, after) in zip(frames, frames.dropFirst()) {
                let format = AudioSpecificConfig(trace.configurations[before.1].bytes)
                let length = 1024_000 / Int64(format?.sampleRate ?? 1)
                // At the change, the nearest frame follows, up to half a frame early or late. The offset is removed
                // later.
                #expect(abs(after.0 - before.0 - length) <= (before.1 == after.1 ? 2 : length / 2 + 2))
            }
            let own = trace.configurations.first { $0.track == .video }
            let mixed = trace.video.filter { $0.configuration >= 0 && trace.configurations[$0.configuration] != own }
            #expect(mixed.allSatisfy { trace.configurations[$0.configuration].bytes[1] == 77 })
            #expect(mixed.count > 20, "frames of profile main")
            let keys = mixed.indices.filter { mixed[$0].frame.isIDR }
            #expect(zip(keys, keys.dropFirst()).allSatisfy { $1 - $0 <= 10 }, "\(keys)")
        }
    }
}
