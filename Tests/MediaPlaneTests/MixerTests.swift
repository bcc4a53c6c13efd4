import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer", .timeLimit(.minutes(6)))
    struct MixerTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        /// Returns the marks of two panes beside each other.
        private func marks(_ track: TestTrack, panes: Int = 2) async throws -> [[Int?]] {
            try await TestStreams.pictures(track).map { _, picture in
                (0..<panes).map { index in
                    let width = picture.frame.width / panes / 2 * 2
                    return TestMark.read(picture.frame, x: index * width, width: width)
                }
            }
        }

        @Test(
            "Host frame k is shown at tick k and every guest frame once, in spite of phase and noise; latency is small")
        func oneToOne() async throws {
            let video = try await TestStreams.video(count: 120)
            var setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(700))
            setup.canvas.background = RGB(red: 0, green: 0, blue: 255)
            // Uneven, and the same in every run.
            let noise = (0..<120).map { MediaTime(nanoseconds: Int64($0 * 7919 % 4001 - 2000) * 1000) }
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(500)),
                PlayedSource(
                    id: Self.guest, tracks: [video.moved(by: .milliseconds(-137)) { noise[$0] }],
                    joins: .milliseconds(500)),
            ]
            harness.commands = [
                (.milliseconds(500), .scene(MixerHarness.scene(setup, [Self.host, Self.guest])))
            ]
            let record = try await harness.run(start: .milliseconds(500), end: .milliseconds(5000))
            #expect(record.failures.isEmpty)
            let frames = record.video.frames
            try #require(frames.count > 60)
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
                #expect(frame.isIDR == (k % 40 == 0))
            }
            let marks = try await marks(record.video)
            #expect(marks.count == frames.count)
            for (k, mark) in marks.enumerated() {
                #expect(mark[0] == 14 + k)
                if k > 0, let now = mark[1], let before = marks[k - 1][1] { #expect(now - before == 1) }
                #expect(mark[1] != nil)
            }
            // The mix reports how much later than its own time the guest is shown, precisely enough to tell one of its
            // frames from the next.
            let shown = zip(frames, marks).compactMap { frame, mark in
                mark[1].map { (frame.pts - .milliseconds(50 * $0 - 137)).inMilliseconds }
            }
            let told = try #require(record.delays.last)
            let toldGuest = try #require(told[Self.guest]).inMilliseconds
            #expect(abs(toldGuest - shown.reduce(0, +) / Double(shown.count)) < 9, "\(record.delays)")
            #expect(try #require(told[Self.host]).magnitude < .milliseconds(3), "\(record.delays)")
            #expect(record.delays.count < 6, "\(record.delays)")
            let latencies = zip(record.videoArrivals, frames).map { ($0 - $1.pts).inMilliseconds }
            print(
                "video latency from frame time (sources 15 ms late): median \(record.medianVideoLatency) ms,",
                "first \(latencies[0]) ms, worst of the rest \(latencies.dropFirst(4).max() ?? .nan) ms;",
                "first frame \((record.videoArrivals[0] - .milliseconds(500)).inMilliseconds) ms after the start command"
            )
            #expect(record.medianVideoLatency < 65)
        }

        @Test(
            "Scenes change between two ticks without a missing frame; the frame asked for is an IDR, and no other",
            arguments: VideoCodec.allCases)
        func scenesAndIDR(codec: VideoCodec) async throws {
            let video = try await TestStreams.video(count: 140)
            let third: SourceID = "carol/camera"
            var setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(600))
            setup.videoCodec = codec
            var harness = MixerHarness(setup: setup)
            // Carol's past GOP, 35 frames, is delivered when she joins.
            let joins = MediaTime.milliseconds(1930)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [video.moved(by: .milliseconds(-7))], joins: .milliseconds(400)),
                PlayedSource(id: third, tracks: [video.moved(by: .milliseconds(180))], joins: joins),
            ]
            let asked = [
                setup.videoOrigin + .units(13, rate: 20), setup.videoOrigin + .units(29, rate: 20) + .milliseconds(9),
            ]
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [Self.host, Self.guest]))),
                (.milliseconds(1000), .requestIDR(asked[0])), (.milliseconds(1900), .requestIDR(asked[1])),
                (
                    joins + .milliseconds(1),
                    .scene(MixerHarness.scene(setup, [Self.host, Self.guest, third]))
                ),
                (.milliseconds(3100), .scene(MixerHarness.scene(setup, [Self.host, third]))),
                (.milliseconds(3101), .ended(Self.guest)),
                (.milliseconds(4000), .scene(MixerHarness.scene(setup, [Self.host]))),
            ]
            // The frames of the past have to be decoded in time.
            harness.slow = joins..<joins + .milliseconds(500)
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(5000))
            #expect(record.failures.isEmpty)
            let frames = record.video.frames
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            #expect(frames.indices.filter { frames[$0].isIDR && $0 < 60 } == [0, 13, 29])
            #expect(frames.allSatisfy { NALUnits($0.payload).containsIDR(of: codec) == $0.isIDR })
            #expect(record.video.configuration.videoCodec == codec)
            // A viewer who uses only in-band parameter sets needs no more.
            let sets = try #require(VideoConfiguration(record.video.configuration)).parameterSets
            for frame in frames where frame.isIDR {
                let units = NALUnits(frame.payload).map { Array($0) }
                for set in NALUnits(sets) { #expect(units.count { $0.elementsEqual(set) } == 1) }
            }

            let pictures = try await TestStreams.pictures(record.video)
            #expect(pictures.count == frames.count)
            var panes: [Int] = []
            for (k, decoded) in pictures.enumerated() {
                let frame = decoded.picture.frame
                // The scene that is drawn: the host's mark is readable in exactly one width.
                let shown = [1, 2, 3].filter { TestMark.read(frame, width: 360 / $0 / 2 * 2) == 12 + k }
                #expect(shown.count == 1, "frame \(k)")
                panes.append(shown.first ?? 0)
                if shown == [3], k > 0, panes[k - 1] == 3 {
                    let marks = [120, 240].map { TestMark.read(frame, x: $0, width: 120) }
                    #expect(marks[0] == 12 + k)
                    // Carol's frames are 180 ms later, 30 ms behind the previous tick.
                    #expect(marks[1] == 12 + k - 4)
                }
            }
            let changes = panes.indices.dropFirst().filter { panes[$0] != panes[$0 - 1] }
            #expect(changes.map { panes[$0] } == [3, 2, 1])
            let first = record.videoArrivals[try #require(changes.first)] - joins
            print("third person with 35 frames of GOP: in the encoded mix \(first.inMilliseconds) ms after joining")
            #expect(first < .milliseconds(350))
        }

        @Test("A mixer started after its origin catches up without a gap")
        func startedLate() async throws {
            let video = try await TestStreams.video(count: 60)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(500))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(800))]
            harness.commands = [(.milliseconds(800), .scene(MixerHarness.scene(setup, [Self.host])))]
            let record = try await harness.run(start: .milliseconds(800), end: .milliseconds(2500))
            let marks = try await marks(record.video, panes: 1)
            // When the first picture is decoded, only the newest of those before the origin can be shown.
            #expect(marks.map { $0[0] } == Array(10..<10 + marks.count))
            let latencies = zip(record.videoArrivals, record.video.frames).map { ($0 - $1.pts).inMilliseconds }
            print("started 300 ms late: lateness \(latencies.prefix(12).map { Int($0) })")
            #expect(MixerRecord.median(Array(latencies.dropFirst(10))) < 80)
        }

        @Test("A silent guest is shown as its last frame, and ticks go on; a broken one is reported")
        func silentAndBroken() async throws {
            let video = try await TestStreams.video(count: 100)
            var silent = video.moved(by: .milliseconds(-10))
            silent.frames.removeSubrange(30...)
            var broken = video
            broken.configuration.bytes = [1, 2, 3]
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [silent], joins: .milliseconds(400)),
                PlayedSource(id: "mallory/camera", tracks: [broken], joins: .milliseconds(1000)),
            ]
            let ids: [SourceID] = [Self.host, Self.guest, "mallory/camera"]
            harness.commands = [(.milliseconds(400), .scene(MixerHarness.scene(setup, ids, heard: ids)))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(4000))
            #expect(
                record.failures.count == 1 && record.failures[0].hasPrefix("mallory/camera: "), "\(record.failures)")
            let marks = try await marks(record.video, panes: 3)
            #expect(marks.map { $0[0] } == Array(12..<12 + marks.count))
            #expect(marks.count >= 50)
            #expect(marks.last?[1] == 29)
            let latencies = zip(record.videoArrivals, record.video.frames).map { ($0 - $1.pts).inMilliseconds }
            // While the mix waits for the guest it is late by its patience, afterwards no longer. A busy machine delays
            // a few.
            #expect(latencies.count { $0 >= 220 } <= 3, "\(latencies)")
            #expect(MixerRecord.median(latencies.suffix(10)) < 80)
        }

        @Test(
            "30 fps with B-frames beside 20 fps and other chroma and depth", arguments: ["Y444", "Y42B", "I420_10LE"])
        func otherFormats(layout: String) async throws {
            let hostVideo = try await TestStreams.video(
                TestPicture(width: 320, height: 240, fps: 30), count: 110, bFrames: 2)
            let guestVideo = try await TestStreams.video(count: 60, layout: layout)
            let setup = MixerHarness.setup(fps: 30, host: Self.host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(
                    id: Self.host, tracks: [hostVideo], lateness: .milliseconds(90), joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [guestVideo], joins: .milliseconds(400)),
            ]
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [Self.host, Self.guest])))
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(3200))
            #expect(record.failures.isEmpty)
            let marks = try await marks(record.video)
            #expect(marks.count > 50)
            #expect(marks.map { $0[0] } == Array(18..<18 + marks.count))
            let guest = marks.compactMap { $0[1] }
            #expect(guest.count == marks.count)
            #expect(zip(guest, guest.dropFirst()).allSatisfy { (0...1).contains($1 - $0) })
            print("\(layout): median latency \(record.medianVideoLatency) ms with B-frames 90 ms late")
        }
    }
}
