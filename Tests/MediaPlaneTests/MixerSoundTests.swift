import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer's sound", .timeLimit(.minutes(6)))
    struct MixerSoundTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        /// Returns several tones that repeat together only after seconds, so that a shift of one sample is detected.
        private static func chord(_ frequencies: [Double], rate: Int, gain: Double = 0.1) -> (Int) -> Float {
            { index in
                Float(frequencies.reduce(0) { $0 + gain * sin(2 * .pi * $1 * Double(index) / Double(rate)) })
            }
        }

        /// Returns the samples of one channel on the program's timeline: index 0 is at `origin`.
        private func line(_ track: TestTrack, origin: MediaTime, rate: Int, channels: Int) async throws -> [Int: Float]
        {
            var line: [Int: Float] = [:]
            for packet in try await TestStreams.sound(track, rate: rate, channels: channels) {
                let start = Int((packet.time - origin).units(rate: rate))
                for index in 0..<packet.samples.count / channels {
                    line[start + index] = packet.samples[index * channels]
                }
            }
            return line
        }

        /// Returns the shift in samples at which two lines agree best within ±1100, with the ratio of their energies
        /// there and the remaining relative error.
        private func compare(_ a: [Int: Float], _ b: [Int: Float], _ range: Range<Int>) -> (
            lag: Int, gain: Float, error: Float
        ) {
            func lined(_ line: [Int: Float], _ lag: Int) -> [Float] { range.map { line[$0 + lag] ?? 0 } }
            let reference = lined(a, 0)
            let energy = reference.reduce(0) { $0 + $1 * $1 }
            let around = (range.lowerBound - 1100..<range.upperBound + 1100).map { b[$0] ?? 0 }
            var best = (lag: 0, sum: -Float.infinity)
            for lag in -1100...1100 {
                var sum: Float = 0
                var index = 0
                // A loop without closures, because this is built without optimization.
                while index < reference.count {
                    sum += reference[index] * around[index + lag + 1100]
                    index += 1
                }
                if sum > best.sum { best = (lag, sum) }
            }
            let found = lined(b, best.lag)
            let difference = zip(reference, found).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
            return (
                best.lag, (found.reduce(0) { $0 + $1 * $1 } / energy).squareRoot(), (difference / energy).squareRoot()
            )
        }

        @Test("The host's sound is in phase with its own bypass to the sample", arguments: [(48_000, 2), (44_100, 1)])
        func phase(rate: Int, channels: Int) async throws {
            let chord = Self.chord([331, 787, 1223, 2801, 5077], rate: rate)
            let sound = try await TestStreams.audio(rate: rate, channels: channels, count: 150, signal: chord)
            // The host's packet 20 lies exactly on the origin.
            let origin = MediaTime.milliseconds(600) + MediaTime(nanoseconds: 333_333)
            let hosted = sound.moved(by: origin - .units(20 * 1024, rate: rate))
            let setup = MixerHarness.setup(
                host: Self.host, videoOrigin: .milliseconds(610), audioOrigin: origin, rate: rate, channels: channels)
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [hosted], joins: .milliseconds(400))]
            harness.commands = [(.milliseconds(400), .scene(MixerHarness.scene(setup, [], heard: [Self.host])))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(2800))
            #expect(record.failures.isEmpty)
            for (m, frame) in record.audio.frames.enumerated() {
                #expect(frame.pts == origin + .units(Int64(m) * 1024, rate: rate))
            }
            #expect(record.audio.frames.count > 60)
            let bypass = try await line(hosted, origin: origin, rate: rate, channels: channels)
            let mixed = try await line(record.audio, origin: origin, rate: rate, channels: channels)
            let result = compare(bypass, mixed, 20_000..<24_000)
            // The first packets are decoded without their predecessors, as after a splice.
            let start = compare(bypass, mixed, 1100..<4000)
            print(
                "\(rate) Hz: shift \(result.lag) samples, level \(result.gain), error \(result.error); at the start \(start);",
                "latency: packet's time to its arrival, median \(record.medianAudioLatency) ms with packets 15 ms late")
            #expect(result.lag == 0 && start.lag == 0)
            #expect(abs(result.gain - 1) < 0.02)
            #expect(result.error < 0.1)
        }

        @Test("A guest with another rate and another count of channels is heard at its time, without a gap or a step")
        func otherRate() async throws {
            let hostSound = try await TestStreams.audio(count: 160, signal: Self.chord([501, 1511], rate: 48_000))
            let guestSound = try await TestStreams.audio(
                rate: 44_100, channels: 1, count: 150, signal: Self.chord([3001, 4409, 613], rate: 44_100))
            let origin = MediaTime.milliseconds(600)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: origin, audioOrigin: origin)
            var harness = MixerHarness(setup: setup)
            // The guest's timestamps are whole milliseconds.
            var rounded = guestSound.moved(by: .milliseconds(100))
            for index in rounded.frames.indices {
                rounded.frames[index].pts = .milliseconds(rounded.frames[index].pts.roundedMilliseconds)
                rounded.frames[index].dts = rounded.frames[index].pts
            }
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [hostSound], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [rounded], joins: .milliseconds(400)),
            ]
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [], heard: [Self.host, Self.guest])))
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(3000))
            let mixed = try await line(record.audio, origin: origin, rate: 48_000, channels: 2)
            // Both signals without any coding. Program time 0 is the host's first sample; the guest's is at 100 ms.
            let host = Self.chord([501, 1511], rate: 48_000)
            let guest = Self.chord([3001, 4409, 613], rate: 48_000)
            let expected = Dictionary(
                uniqueKeysWithValues: (0..<100_000).map { index in
                    (index, host(index + 28_800) + guest(index + 24_000))
                })
            for window in [5000..<9000, 40_000..<44_000, 80_000..<84_000] {
                let result = compare(expected, mixed, window)
                print("mixed 48 kHz stereo + 44.1 kHz mono, \(window): \(result)")
                #expect(result.lag == 0)
                #expect(result.error < 0.15)
            }
        }

        /// Returns the amplitude of a tone in a section of a line.
        private func amplitude(_ line: [Int: Float], _ frequency: Double, _ range: Range<Int>) -> Double {
            var (real, imaginary) = (0.0, 0.0)
            for index in range {
                let angle = 2 * .pi * frequency * Double(index) / 48_000
                let sample = Double(line[index] ?? 0)
                real += sample * cos(angle)
                imaginary += sample * sin(angle)
            }
            return 2 * (real * real + imaginary * imaginary).squareRoot() / Double(range.count)
        }

        /// Returns a tone with a loudness that depends on the second of the program in which it is heard.
        private static func tone(_ frequency: Double, _ loudness: @escaping (Double) -> Double) -> (Int) -> Float {
            { Float(loudness(Double($0) / 48_000) * sin(2 * .pi * frequency * Double($0) / 48_000)) }
        }

        @Test("Gains are heard as they are asked for, and change without a click")
        func gains() async throws {
            let hostSound = try await TestStreams.audio(count: 160, signal: Self.tone(1000) { _ in 0.1 })
            let guestSound = try await TestStreams.audio(count: 160, signal: Self.tone(400) { _ in 0.1 })
            let origin = MediaTime.milliseconds(600)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: origin, audioOrigin: origin)
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [hostSound], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [guestSound], joins: .milliseconds(400)),
            ]
            func scene(_ host: Int, _ guest: Int) -> Scene {
                var scene = MixerHarness.scene(setup, [])
                scene.sound.levels = [
                    .init(source: Self.host.rawValue, gain: host), .init(source: Self.guest.rawValue, gain: guest),
                ]
                return scene
            }
            harness.commands = [
                (.milliseconds(400), .scene(scene(50, 200))),
                (.milliseconds(1600), .sceneChange(scene(400, 25).difference(from: scene(50, 200)))),
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(3200))
            let mixed = try await line(record.audio, origin: origin, rate: 48_000, channels: 2)
            for (range, host, guest) in [(9600..<38_400, 0.05, 0.2), (67_200..<96_000, 0.4, 0.025)] {
                let found = (amplitude(mixed, 1000, range), amplitude(mixed, 400, range))
                print("gains: \(found) for \((host, guest))")
                #expect(abs(found.0 - host) < host * 0.05 && abs(found.1 - guest) < guest * 0.05)
            }
            // A step in loudness would be a corner: the second difference of a smooth sum stays small.
            let corner = (48_000..<67_200).map { index in
                let (a, b, c) = (mixed[index - 1] ?? 0, mixed[index] ?? 0, mixed[index + 1] ?? 0)
                return abs(a - 2 * b + c)
            }
            let smooth = 0.4 * pow(2 * Double.pi * 1000 / 48_000, 2) * 1.2
            #expect(Double(corner.max() ?? 1) < smooth)
        }

        @Test("Of three, only the loudest is heard: whoever speaks, after a moment, without a click")
        func loudest() async throws {
            // Program seconds: alice speaks until 1.6, bob from then on; carol hums all the time.
            let turn = 1.6
            let voices: [(SourceID, Double, (Double) -> Double)] = [
                (Self.host, 1000, { $0 < turn ? 0.2 : 0.002 }), (Self.guest, 400, { $0 < turn ? 0.002 : 0.2 }),
                ("carol/camera", 2300, { _ in 0.01 }),
            ]
            let origin = MediaTime.milliseconds(600)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: origin, audioOrigin: origin)
            var harness = MixerHarness(setup: setup)
            for (id, frequency, loudness) in voices {
                let sound = try await TestStreams.audio(count: 170, signal: Self.tone(frequency, loudness))
                harness.sources.append(PlayedSource(id: id, tracks: [sound], joins: .milliseconds(400)))
            }
            var scene = MixerHarness.scene(setup, [], heard: voices.map(\.0))
            scene.sound.loudest = 1
            harness.commands = [(.milliseconds(400), .scene(scene))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(3500))
            #expect(record.failures.isEmpty)
            let mixed = try await line(record.audio, origin: origin, rate: 48_000, channels: 2)
            // Indices count from the origin, 0.6 s: the turn is at 48 000.
            func heard(_ range: Range<Int>) -> [Double] { voices.map { amplitude(mixed, $0.1, range) } }
            let before = heard(9600..<43_200)
            let after = heard(57_600..<110_400)
            print("loudest of three: before \(before), after \(after)")
            #expect(abs(before[0] - 0.2) < 0.01 && before[1] < 0.0005 && before[2] < 0.0005)
            #expect(abs(after[1] - 0.2) < 0.01 && after[0] < 0.0005 && after[2] < 0.0005)
        }

        @Test("Silence stands in for whoever is not there, and packets keep coming")
        func silence() async throws {
            let setup = MixerHarness.setup(host: Self.host)
            var harness = MixerHarness(setup: setup)
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [Self.host], heard: [Self.host])))
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(1600))
            #expect(record.audio.frames.count >= 20)
            #expect(record.video.frames.count >= 8)
            #expect(try await TestStreams.sound(record.audio).allSatisfy { $0.samples.allSatisfy { abs($0) < 1e-3 } })
        }
    }
}
