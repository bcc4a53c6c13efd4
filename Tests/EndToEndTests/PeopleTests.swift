import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import MediaFormats
@testable import ViewerProbe

/// Operators mute, turn down and hide participants on air, and see and hear them without a player, with real streams.
@Suite(.serialized) struct PeopleTests {
    private static func control(_ stage: Stage, _ user: String, _ body: String) async throws {
        let answer = try await stage.client.request(
            "PATCH", "/v1/rooms/\(stage.room)/participants/\(user)", json: body)
        guard answer.status == 200 else { throw EndToEndError("\(answer.status) \(answer.text)") }
    }

    /// Returns the longest time in seconds for which the amplitude of a tone stays within a range.
    private static func longest(
        _ amplitudes: [Double], within range: ClosedRange<Double>, step: Double
    ) -> Double {
        var (best, current) = (0, 0)
        for amplitude in amplitudes {
            current = range.contains(amplitude) ? current + 1 : 0
            best = max(best, current)
        }
        return Double(best) * step
    }

    /// Returns the amplitudes around that of a publisher's tone times `gain`. The decoder makes one channel of two
    /// equal ones, which is 3 dB louder.
    private static func around(_ gain: Double) -> ClosedRange<Double> {
        let amplitude = SyntheticPublisher.toneAmplitude * 2.squareRoot() * gain
        return amplitude * 0.85...amplitude * 1.15
    }

    /// Returns the amplitudes of a tone, one every 50 ms.
    private static func amplitudes(_ runs: [SoundRun], of frequency: Int) -> [Double] {
        runs.flatMap { run in
            stride(from: run.sampleRate / 10, to: run.samples.count - run.sampleRate / 10, by: run.sampleRate / 20)
                .compactMap {
                    ToneAnalysis.tone(
                        run.samples, sampleRate: run.sampleRate, frequency: Double(frequency), centre: $0,
                        length: run.sampleRate / 10)?.amplitude
                }
        }
    }

    /// Returns whether the effect of a control lasted from one call to the next. A busy machine answers a call late,
    /// before or after the effect begins.
    private static func lasts(_ found: Double, _ asked: Duration) -> Bool {
        let asked = asked / .seconds(1)
        return asked - 2...asked + 2 ~= found
    }

    @Test(.timeLimit(.minutes(6))) func theyAreMutedTurnedDownAndHiddenOnAir() async throws {
        let alice = SyntheticPublisher(id: 1, width: 360, height: 640)
        let bob = SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1)
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", alice)
            try await stage.publish("bob", bob)
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .milliseconds(1500))
            // In the bypass, the muted packets are silent at the same times, without a switch.
            let clock = ContinuousClock()
            try await Self.control(stage, "alice", #"{"muted": true}"#)
            let muted = clock.now
            try await Task.sleep(for: .seconds(3))
            let calm = try await stage.waitForOnAir("bypass")
            #expect(calm.switches.count == 1, "\(calm.switches)")
            try await Self.control(stage, "alice", #"{"muted": null}"#)
            let silence = clock.now - muted
            try await Task.sleep(for: .milliseconds(1500))
            // In the mix.
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .milliseconds(1500))
            try await Self.control(stage, "bob", #"{"gain": 50}"#)
            let turned = clock.now
            try await Task.sleep(for: .milliseconds(2500))
            try await Self.control(stage, "bob", #"{"muted": true}"#)
            let half = clock.now - turned
            try await Task.sleep(for: .milliseconds(2500))
            // Bob is hidden and shown again, as if he had left and come back.
            try await Self.control(stage, "bob", #"{"hidden": true}"#)
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .milliseconds(1500))
            try await Self.control(stage, "bob", #"{"hidden": false, "muted": false, "gain": 100}"#)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .milliseconds(2500))

            viewer.stop()
            let recording = await viewer.recording()
            let report = try await stage.judge(recording, expectedSwitches: 3)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.connections == 1 && report.decodeErrors.isEmpty)
            let runs = try SoundDecoder.decode(try recording.trace()).runs
            let own = Self.amplitudes(runs, of: alice.toneFrequency)
            let guest = Self.amplitudes(runs, of: bob.toneFrequency)
            let step = 0.05
            let found = (
                silence: Self.longest(own, within: 0...0.002, step: step),
                sound: Self.longest(own, within: Self.around(1), step: step),
                half: Self.longest(guest, within: Self.around(0.5), step: step),
                whole: Self.longest(guest, within: Self.around(1), step: step)
            )
            print("alice silent for \(found.silence) s; bob at half for \(found.half) s")
            #expect(Self.lasts(found.silence, silence) && found.sound >= 1, "\(found), silent for \(silence)")
            #expect(Self.lasts(found.half, half) && found.whole >= 1, "\(found), at half for \(half)")
            let timeline = try await stage.client.timeline(stage.room)
            #expect(timeline.contains("alice: muted") && timeline.contains("bob: gain 50 %"), "\(timeline)")
        }
    }

    @Test(.timeLimit(.minutes(5))) func aGainOfOneWhoIsAloneIsAMixOfOne() async throws {
        let alice = SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1)
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", alice)
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(3))
            try await Self.control(stage, "alice", #"{"gain": 200}"#)
            try await stage.waitForOnAir("mix", users: ["alice"])
            let begin = ContinuousClock.now
            try await Task.sleep(for: .milliseconds(2500))
            try await Self.control(stage, "alice", #"{"gain": null}"#)
            let asked = ContinuousClock.now - begin
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .milliseconds(2500))
            viewer.stop()
            let recording = await viewer.recording()
            let runs = try SoundDecoder.decode(try recording.trace()).runs
            let own = Self.amplitudes(runs, of: alice.toneFrequency)
            let loud = Self.longest(own, within: Self.around(2), step: 0.05)
            print("alice at twice her level for \(loud) s")
            // The bypass follows the mix at her next keyframe, or at a later one on a busy machine.
            #expect(loud >= 1 && loud < asked / .seconds(1) + 4, "\(loud) s of \(asked)")
            #expect(recording.connections == 1)
        }
    }

    /// Returns the mean colour of the lower middle of a picture, and its size.
    private static func look(at jpeg: Data, in directory: URL) throws -> (width: Int, height: Int, colour: [Int]) {
        let header = try ImageHeader(Array(jpeg), mostPixels: 10_000_000)
        let file = directory.appendingPathComponent("\(UUID().uuidString).jpg")
        try jpeg.write(to: file)
        let child = try ChildProcess(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-i", file.path, "-vf", "crop=iw/2:ih/8:iw/4:ih*13/16,scale=1:1:flags=area",
                "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1",
            ])
        let bytes = child.readAll()
        return (header.width, header.height, bytes.prefix(3).map { Int($0) })
    }

    private static func isNear(_ found: [Int], _ colour: RGBParts) -> Bool {
        found.count == 3 && zip(found, colour).allSatisfy { abs($0 - $1) <= 12 }
    }
    private typealias RGBParts = [Int]

    @Test(.timeLimit(.minutes(6))) func picturesAndLevels() async throws {
        struct Levels: Decodable {
            struct Level: Decodable {
                var id: String?
                var peak: Double?
                var rms: Double?
            }
            var program: Level
            var sources: [Level]
        }
        let alice = SyntheticPublisher(id: 1, gopSeconds: 1)
        let bob = SyntheticPublisher(id: 2, width: 1280, height: 720, gopSeconds: 1)
        try await Stage.run(environment: ["MIXORCHESTRATOR_THUMBNAILS_INTERVAL": "1"]) { stage in
            try await stage.publish("alice", alice)
            try await stage.publish("bob", bob)
            try await stage.open(host: "alice")
            let path = "/v1/tasks/auto-\(stage.room)"
            func thumbnailers() -> [Int32] {
                ProcessTable.descendants(of: stage.service.identifier).filter { $0.arguments.contains("thumbnail") }
                    .map(\.identifier)
            }
            #expect(thumbnailers().isEmpty, "nothing runs while nobody looks")
            func picture(_ name: String) async throws -> (width: Int, height: Int, colour: [Int]) {
                let answer = try await stage.client.request("GET", "\(path)/\(name).jpg")
                guard answer.status == 200 else { throw EndToEndError("\(answer.status) \(answer.text)") }
                #expect(answer.contentType == "image/jpeg")
                return try Self.look(at: answer.body, in: stage.directory)
            }
            /// Returns the first picture. Retries while a busy machine needs longer for a picture than the service
            /// waits.
            func firstPicture(_ name: String) async throws -> (width: Int, height: Int, colour: [Int]) {
                var first: (width: Int, height: Int, colour: [Int])?
                var refusal = ""
                try await waitUntil("there is a picture \(name): \(refusal)", every: 1000) {
                    do {
                        first = try await picture(name)
                    } catch let error as EndToEndError {
                        refusal = error.description
                        guard refusal.hasPrefix("503") else { throw error }
                    }
                    return first != nil
                }
                guard let first else { throw EndToEndError(refusal) }
                return first
            }
            let program = try await firstPicture("thumbnail")
            print("program: \(program), alice: \(alice.colour)")
            #expect(program.width == 180 && program.height == 320)
            #expect(
                Self.isNear(program.colour, [Int(alice.colour.red), Int(alice.colour.green), Int(alice.colour.blue)]))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let guest = try await firstPicture("participants/bob")
            print("guest: \(guest), bob: \(bob.colour)")
            #expect(guest.width == 320 && guest.height == 180)
            #expect(Self.isNear(guest.colour, [Int(bob.colour.red), Int(bob.colour.green), Int(bob.colour.blue)]))
            let first = thumbnailers()
            #expect(first.count == 1)

            func levels() async throws -> Levels {
                try JSONDecoder().decode(
                    Levels.self, from: try await stage.client.request("GET", "\(path)/levels").body)
            }
            var found: Levels?
            // The tones have a tenth of the full amplitude; beeps are louder.
            try await waitUntil("both are heard: \(String(describing: found))") {
                // The service refuses the levels while a busy machine needs too long for them.
                guard let now = try? await levels() else { return false }
                found = now
                return (now.program.rms ?? -100) > -25 && now.sources.count == 2
                    && now.sources.allSatisfy { ($0.rms ?? -100) > -28 }
            }
            for user in ["alice", "bob"] { try await Self.control(stage, user, #"{"muted": true}"#) }
            // Their pictures are still shown.
            try await waitUntil("nobody is heard: \(String(describing: found))") {
                // The service refuses the levels while a busy machine needs too long for them.
                guard let now = try? await levels() else { return false }
                found = now
                return (now.program.peak ?? 0) < -80 && now.sources.count == 2
                    && now.sources.allSatisfy { ($0.rms ?? -100) > -28 }
            }

            // A hung process is killed, and the next request starts another.
            kill(first.first ?? -1, SIGSTOP)
            try await Task.sleep(for: .milliseconds(1500))
            let began = ContinuousClock.now
            let refused = try await stage.client.request("GET", "\(path)/thumbnail.jpg")
            #expect(refused.status == 503, "\(refused.text)")
            // Without a limit, the request would wait for ever.
            #expect(ContinuousClock.now - began < .seconds(50))
            try await waitUntil("there is a picture again") { (try? await picture("thumbnail")) != nil }
            #expect(thumbnailers().count == 1 && thumbnailers() != first)
            // The program is not affected.
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.outputs.map(\.reconnects) == [0])
        }
    }
}
