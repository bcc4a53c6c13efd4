import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

extension RealTime {
    /// Costs of whole mixes, and the accuracy of `CostModel` for mixes outside its data. The test only prints, takes
    /// minutes, and means little beside other work, so it runs only on request: `MIX_MEASURE=1 swift test -c release
    /// -Xswiftc -enable-testing --filter MixerLoadTests`.
    @Suite("What mixers cost", .enabled(if: ProcessInfo.processInfo.environment["MIX_MEASURE"] != nil))
    struct MixerLoadTests {
        private struct Case {
            var people: Int
            var size: (width: Int, height: Int)
            var rate: Int
            var canvas: Canvas
            var divisor = 1
            var codec: VideoCodec?
            var preset: EncodingSettings.Preset?
        }

        /// The cases that the model is fitted to.
        private static let seen = [
            Case(people: 0, size: (0, 0), rate: 1, canvas: .portrait),
            Case(people: 2, size: (360, 640), rate: 20, canvas: .portrait),
            Case(people: 2, size: (720, 1280), rate: 25, canvas: .portrait),
            Case(people: 4, size: (640, 360), rate: 15, canvas: Canvas(width: 1280, height: 720, fps: 25)),
            Case(people: 1, size: (720, 1280), rate: 25, canvas: Canvas(width: 360, height: 640, fps: 15)),
            Case(people: 2, size: (720, 1280), rate: 25, canvas: .portrait, divisor: 2),
            Case(people: 0, size: (0, 0), rate: 1, canvas: .portrait, codec: .h265),
            Case(people: 2, size: (720, 1280), rate: 25, canvas: .portrait, codec: .h265),
        ]
        private static let unseen = [
            Case(people: 3, size: (640, 360), rate: 20, canvas: .portrait),
            Case(people: 2, size: (1280, 720), rate: 25, canvas: Canvas(width: 1280, height: 720, fps: 30)),
            Case(people: 6, size: (360, 640), rate: 15, canvas: Canvas(width: 720, height: 1280, fps: 25)),
            Case(people: 4, size: (720, 1280), rate: 25, canvas: Canvas(width: 540, height: 960, fps: 15)),
            Case(people: 2, size: (360, 640), rate: 20, canvas: .portrait, divisor: 3),
            Case(people: 3, size: (640, 360), rate: 20, canvas: .portrait, codec: .h265),
        ]

        @Test func cost() async throws {
            var model = CostModel()
            var errors: [Double] = []
            for (index, measured) in (Self.seen + Self.unseen + Self.seen).enumerated() {
                let (workload, cores) = try await Self.measure(measured)
                let guess = model.cores(workload) - model.cores(Workload(copies: workload.copies))
                let first = CostModel().cores(workload) - CostModel().cores(Workload(copies: workload.copies))
                let isUnseen = (Self.seen.count..<Self.seen.count + Self.unseen.count).contains(index)
                let mix = try #require(workload.mix)
                print(
                    String(
                        format:
                            "%@ composed %.2f (H.265 %.2f) decoded %.2f scaled %.2f sounds %d: %.4f cores, prior %.4f, learnt %.4f",
                        isUnseen ? "unseen" : "seen  ", mix.composed, mix.encodedH265 ?? 0, mix.decoded, mix.scaled,
                        mix.sounds, cores, first, guess))
                if isUnseen {
                    errors.append(abs(guess - cores) / cores)
                } else if index < Self.seen.count {
                    for _ in 0..<3 {
                        model.learn(CostMeasurement(workload: workload, relayCores: 0.01, mixerCores: cores))
                    }
                }
            }
            print(
                "error on unseen mixes: "
                    + errors.map { String(format: "%.1f %%", $0 * 100) }.joined(separator: ", ")
                    + String(format: "; mean %.1f %%", errors.reduce(0, +) / Double(errors.count) * 100))
        }

        /// Returns the cores that a mixer uses in five seconds once it has settled.
        private static func measure(_ measured: Case) async throws -> (Workload, Double) {
            let seconds = 9.0
            let ids = (0..<measured.people).map { SourceID("user\($0)/camera") }
            var setup = MixerHarness.setup(
                width: measured.canvas.width, height: measured.canvas.height, fps: measured.canvas.fps,
                host: ids.first, videoOrigin: .milliseconds(700))
            setup.videoCodec = measured.codec
            setup.preset = measured.preset
            var harness = MixerHarness(setup: setup)
            harness.isRigid = true
            harness.setup.videoBitrate = measured.canvas.width * measured.canvas.height * measured.canvas.fps / 10
            let tracks = measured.people > 0 ? try film(measured.size, rate: measured.rate, seconds: 10) : []
            harness.sources = ids.map { PlayedSource(id: $0, tracks: tracks, joins: .milliseconds(500)) }
            let scene = MixerHarness.scene(setup, ids, heard: ids)
            harness.commands = [
                (.milliseconds(500), .scene(scene)), (.milliseconds(501), .frameDivisor(measured.divisor)),
            ]
            let begin = MonotonicClock.now()
            async let used = cores(from: begin + 3_000_000_000, to: begin + 8_000_000_000)
            let record = try await harness.run(start: .milliseconds(500), end: .seconds(seconds))
            #expect(record.failures.isEmpty)
            let frames = record.video.frames.count { (3.5...8.5).contains($0.pts.inSeconds) }
            var workload = Workload(
                mode: .mix(host: "user0/camera"), scene: scene,
                sources: ids.map { PlannedSource(id: $0, url: "") }, outputs: 1,
                pictures: Dictionary(
                    ids.map {
                        (
                            $0,
                            Workload.Pictures(
                                width: measured.size.width, height: measured.size.height, rate: Double(measured.rate))
                        )
                    }, uniquingKeysWith: { first, _ in first }), frameDivisor: measured.divisor,
                encoding: EncodingSettings(videoCodec: measured.codec, preset: measured.preset))
            // A machine with other load drops frames.
            let made = Double(frames) / 5 / (Double(measured.canvas.fps) / Double(measured.divisor))
            workload.mix?.composed *= made
            workload.mix?.scaled *= made
            workload.mix?.encodedH265? *= made
            workload.mix?.presetWork? *= made
            return (workload, try await used)
        }

        private static func cores(from: Int64, to: Int64) async throws -> Double {
            try await Task.sleep(for: .nanoseconds(max(0, from - MonotonicClock.now())))
            let begin = (MixerStage.processTime, MonotonicClock.now())
            try await Task.sleep(for: .nanoseconds(max(0, to - MonotonicClock.now())))
            return (MixerStage.processTime - begin.0) / (Double(MonotonicClock.now() - begin.1) / 1e6)
        }

        /// Returns moving pictures with a sensor's noise, and sound.
        private static func film(_ size: (width: Int, height: Int), rate: Int, seconds: Int) throws -> [TestTrack] {
            let file = FileManager.default.temporaryDirectory.appending(path: "film-\(UUID().uuidString).flv")
            defer { try? FileManager.default.removeItem(at: file) }
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            let picture = "testsrc2=s=\(size.width)x\(size.height):r=\(rate),noise=alls=6:allf=t"
            let bitrate = size.width * size.height * rate / 12
            var arguments: [String] = ["ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error"]
            arguments += ["-f", "lavfi", "-i", picture]
            arguments += ["-f", "lavfi", "-i", "sine=r=48000,aformat=channel_layouts=stereo", "-t", "\(seconds)"]
            arguments += ["-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-g", "\(rate * 2)"]
            arguments += ["-b:v", "\(bitrate)", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "flv", file.path]
            process.arguments = arguments
            try process.run()
            process.waitUntilExit()
            var reader = FLVReader()
            var tracks: [Track: TestTrack] = [:]
            for item in try reader.push([UInt8](try Data(contentsOf: file))) {
                switch item {
                case .configuration(let configuration):
                    tracks[configuration.track] = TestTrack(configuration: configuration, frames: [])
                case .frame(let frame): tracks[frame.track]?.frames.append(frame)
                case .metadata, .discontinuity: break
                }
            }
            return Track.allCases.compactMap { tracks[$0] }
        }
    }
}
