import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramMixer
@testable import ProgramRelay

extension RealTime {
    /// Sources with open groups of pictures, from real encoders: no splice shows a picture that cannot be decoded.
    @Suite("Open groups of pictures", .serialized, .timeLimit(.minutes(8)))
    struct OpenGroupTests {
        private static let host: SourceID = "host/camera"
        private static let guest: SourceID = "guest/camera"
        private static let interval = 50.0

        /// Returns open groups of one second made by x264, whose I pictures are followed by B pictures displayed before
        /// them, with an IDR at the beginning of each of these runs of pictures.
        private static func openGroups(_ runs: [Int]) async throws -> TestTrack {
            var track: TestTrack?
            for count in runs {
                let next = try await TestStreams.video(
                    first: track?.frames.count ?? 0, count: count, keyInterval: 20, bFrames: 3, options: "open-gop=1")
                if let before = track { #expect(before.configuration == next.configuration) }
                track = TestTrack(
                    configuration: next.configuration, frames: (track?.frames ?? []) + next.frames)
            }
            let made = try #require(track)
            let configuration = try #require(VideoConfiguration(made.configuration))
            #expect(made.frames.count { NALUnits($0.payload).containsIDR() } == runs.count)
            let entries = made.frames.indices.filter { asRead(made.frames[$0]).beginsOpenGroup(of: configuration) }
            #expect(entries.count > runs.reduce(0, +) / 20 - 2 * runs.count)
            let leading = entries.count { index in
                made.frames.indices.contains(index + 1) && made.frames[index + 1].pts < made.frames[index].pts
            }
            #expect(leading > entries.count / 2, "\(leading) of \(entries.count) groups have leading pictures")
            return made
        }

        /// Returns the frame as read by a relay. Encoders, and publishers with them, also call the first picture of an
        /// open group a keyframe.
        private static func asRead(_ frame: EncodedFrame) -> EncodedFrame {
            var frame = frame
            frame.isIDR = NALUnits(frame.payload).containsIDR()
            return frame
        }

        /// Returns the stream that a relay gets when it joins in the middle: from about a time on, without an IDR.
        private static func joined(_ track: TestTrack, at time: MediaTime) -> TestTrack {
            var rest = track
            rest.frames.removeAll { $0.dts < time }
            return rest.moved(by: .zero - time)
        }

        /// Returns the program's pictures, split where their configuration changes. H.265 repeats its configuration
        /// before each IDR.
        private func program(_ rig: RelayRig) -> [TestTrack] {
            rig.segments.reduce(into: []) { segments, next in
                if segments.last?.configuration == next.configuration {
                    segments[segments.count - 1].frames += next.frames
                } else {
                    segments.append(next)
                }
            }
        }

        /// Returns the marks that a viewer sees in these pictures, decoded on their own, in display order.
        private func marks(
            _ track: TestTrack, missing: Int = 0, x: Int = 0, width: Int = 360
        ) async throws -> [Int?] {
            try await TestStreams.pictures(track, missing: missing).map {
                TestMark.read($0.picture.frame, x: x, width: width)
            }
        }

        /// Checks the last pictures of a mix: all whole, each one following its predecessor, except for those that a
        /// busy machine repeats or drops.
        private func expectSteady(_ marks: [Int?], _ name: String) {
            let last = marks.suffix(60)
            print("\(name): \(marks.map { $0 ?? -1 })")
            #expect(last.count == 60 && !last.contains(nil), "a picture is broken")
            let numbers = last.compactMap(\.self)
            let steps = zip(numbers, numbers.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { 0...2 ~= $0 } && steps.count { $0 != 1 } <= 6, "\(steps)")
        }

        private func expectNoGap(_ segments: [TestTrack], reordered: Int) {
            let times = segments.flatMap(\.frames).map(\.pts.inMilliseconds).sorted()
            // At the end, pictures that are displayed before the last ones had not arrived yet.
            let intervals = zip(times, times.dropFirst()).map { $1 - $0 }.dropLast(reordered)
            #expect(
                intervals.allSatisfy { abs($0 - Self.interval) <= 1.5 },
                "a picture is lost or shown twice: \(intervals)")
        }

        /// Puts the host on air as a copy, in a mix, and as a copy again.
        private func switched(
            _ video: TestTrack, encoding: EncodingSettings? = nil
        ) async throws -> [(track: TestTrack, marks: [Int])] {
            let rig = try await RelayRig()
            // With B pictures, decoding begins before the time 0 of the first picture, but a stream cannot.
            let video = video.moved(by: .milliseconds(200))
            rig.publish("host", [video, try await TestStreams.audio(count: 1_100) { _ in 0 }])
            let sources = [PlannedSource(id: Self.host, url: rig.url("host"))]
            let scene = Scene.columns([Self.host])
            let modes = [
                (ProgramPlan.Mode.bypass(Self.host), OnAir.bypass), (.mix(host: Self.host), .mix),
                (.bypass(Self.host), .bypass),
            ]
            for (index, (mode, kind)) in modes.enumerated() {
                try rig.apply(mode, scene, sources, encoding: encoding)
                try await rig.waitFor(kind)
                #expect(
                    try await outputEventually {
                        let segments = program(rig)
                        return segments.count == index + 1 && segments[index].frames.count > 60
                    }, "\(mode): \(rig.notes)")
            }
            let segments = program(rig)
            try await rig.stop()
            try #require(segments.count == 3 && rig.notes.isEmpty, "\(segments.count) segments, \(rig.notes)")
            expectNoGap(segments, reordered: 3)
            var parts: [(track: TestTrack, marks: [Int])] = []
            for (index, segment) in segments.enumerated() {
                // Only copies are reordered.
                let seen = try await marks(segment, missing: index == 1 ? 0 : 4)
                print("\(segment.frames.count) pictures, marks \(seen.map { $0 ?? -1 })")
                #expect(!seen.contains(nil), "a picture is broken")
                parts.append((segment, seen.compactMap(\.self)))
            }
            // The copies are whole, from the first picture on.
            for part in [parts[0], parts[2]] {
                let numbers = part.marks
                #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(numbers)")
            }
            let mixed = parts[1].marks
            let oddities = zip(mixed, mixed.dropFirst()).map { $1 - $0 }.filter { $0 != 1 }
            #expect(oddities.count <= 4 && oddities.allSatisfy { 0...2 ~= $0 }, "\(mixed)")
            // A decoder that does not know of the end withholds the last pictures that it reorders.
            let step = (mixed.first ?? 0) - (parts[0].marks.last ?? 0)
            #expect(1...5 ~= step, "\(step) pictures from the bypass to the mix")
            return parts
        }

        @Test("H.264 is left anywhere, and entered with an IDR, not with an open group")
        func h264() async throws {
            // The source is copied for three seconds and mixed for three: the next IDR comes some seconds later, after
            // several open groups. A busy machine is ready for one of the later ones.
            let parts = try await switched(try await Self.openGroups([260, 80, 120]))
            #expect(parts[2].track.frames.first?.isIDR == true)
            let entry = try #require(parts[2].marks.first)
            #expect(entry == 260 || entry == 340, "\(parts[2].marks)")
            #expect(parts[1].marks.last ?? 0 >= entry - 4, "the mix goes on up to the IDR: \(parts[1].marks)")
        }

        @Test("leading pictures of a closed group of H.265 are not shown behind what was mixed")
        func leadingPicturesOfClosedGroups() async throws {
            let video = try await TestStreams.video(
                count: 360, keyInterval: 20, bFrames: 3, options: "open-gop=0:radl=2:b-pyramid=0", codec: .h265)
            func types(_ frame: EncodedFrame) -> [UInt8] { NALUnits(frame.payload).map { ($0.first ?? 0) >> 1 & 0x3F } }
            let isLeading = { (frame: EncodedFrame) in types(frame).contains { $0 == 6 || $0 == 7 } }
            try #require(video.frames.count(where: isLeading) > 10, "\(video.frames.prefix(30).map(types))")
            let parts = try await switched(video, encoding: EncodingSettings(videoCodec: .h265))
            let entered = parts[2].track
            let first = try #require(entered.frames.first)
            #expect(first.isIDR && !isLeading(entered.frames[1]))
            #expect(entered.frames.allSatisfy { $0.pts >= first.pts })
            #expect(entered.frames.contains(where: isLeading), "of later groups they are shown")
        }

        @Test("a host whose keyframe has passed is mixed from an open group on")
        func joinedInTheMiddle() async throws {
            let rig = try await RelayRig()
            rig.publish(
                "host",
                [
                    Self.joined(try await Self.openGroups([500]), at: .milliseconds(2_330)),
                    try await TestStreams.audio(count: 1_000) { _ in 0 },
                ])
            let scene = Scene.columns([Self.host])
            try rig.apply(.bypass(Self.host), scene, [PlannedSource(id: Self.host, url: rig.url("host"))])
            try await rig.waitFor(.mix)
            #expect(try await outputEventually { program(rig).last?.frames.count ?? 0 > 100 })
            let segments = program(rig)
            try await rig.stop()
            #expect(segments.count == 1)
            expectSteady(try await marks(try #require(segments.last)), "host")
        }

        @Test("so is a guest beside a host who is copied")
        func guestJoinedInTheMiddle() async throws {
            let rig = try await RelayRig()
            rig.publish(
                "host",
                [
                    try await TestStreams.video(count: 500, keyInterval: 20),
                    try await TestStreams.audio(count: 1_100) { _ in 0 },
                ])
            rig.publish(
                "guest",
                [
                    Self.joined(try await Self.openGroups([500]), at: .milliseconds(2_330)),
                    try await TestStreams.audio(count: 1_000) { _ in 0 },
                ])
            let host = PlannedSource(id: Self.host, url: rig.url("host"))
            try rig.apply(.bypass(Self.host), Scene.columns([Self.host]), [host])
            try await rig.waitFor(.bypass)
            try rig.apply(
                .mix(host: Self.host), Scene.columns([Self.host, Self.guest]),
                [host, PlannedSource(id: Self.guest, url: rig.url("guest"))])
            try await rig.waitFor(.mix)
            #expect(try await outputEventually { program(rig).last?.frames.count ?? 0 > 100 })
            let segments = program(rig)
            try await rig.stop()
            #expect(rig.notes.isEmpty, "\(rig.notes)")
            let mixed = try #require(segments.last)
            expectSteady(try await marks(mixed, width: 180), "host")
            expectSteady(try await marks(mixed, x: 180, width: 180), "guest")
        }
    }
}
