import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing
import EncodedMedia
import MediaFormats

@testable import ProgramMixer
@testable import ProgramRelay
@testable import RTMP

extension RealTime {
    /// Scenes as put on air by a relay and its mixers together.
    @Suite("Relay and mixer", .timeLimit(.minutes(6)))
    struct MixerRelayTests {
        static let alice: SourceID = "alice/camera"
        static let bob: SourceID = "bob/camera"
        static let canvas = Canvas(width: 360, height: 640, fps: 20)

        private static func pane(_ id: SourceID, _ x: Int, _ width: Int) -> Pane {
            Pane(
                source: id.rawValue, user: id.user.rawValue, x: x, y: 0, width: width, height: 640, fit: .stretch)
        }

        private static func scene(_ panes: [Pane], heard: [SourceID], by transition: Transition = .cut) -> Scene {
            Scene(
                canvas: canvas, panes: panes,
                sound: SceneSound(levels: heard.map { .init(source: $0.rawValue) }), transition: transition)
        }

        /// Checks that the program's frames are one frame interval apart, even at changes of its content.
        private func expectNoGap(_ segments: [TestTrack]) {
            let times = segments.enumerated().flatMap { index, segment in
                segment.frames.map { (segment: index, time: $0.pts.inMilliseconds) }
            }
            for (before, after) in zip(times, times.dropFirst()) {
                #expect(abs(after.time - before.time - 50) <= 1.5, "from \(before) to \(after) ms")
            }
        }

        @Test("One person becomes two smoothly: the mix begins with what the bypass showed, and then it moves")
        func opening() async throws {
            let video = try await TestStreams.video(count: 400)
            let sound = try await TestStreams.audio(count: 470) { _ in 0 }.looped(2)
            let rig = try await RelayRig()
            rig.publish("alice", [video, sound])
            let other = try await TestStreams.video(TestPicture(palette: [SIMD3(200, 128, 128)]), count: 80)
            rig.publish("bob", [other.looped(6)])
            let sources = [
                PlannedSource(id: Self.alice, url: rig.url("alice")), PlannedSource(id: Self.bob, url: rig.url("bob")),
            ]
            let alone = Self.scene([Self.pane(Self.alice, 0, 360)], heard: [Self.alice])
            try rig.apply(.bypass(Self.alice), alone, [sources[0]])
            try await rig.waitFor(.bypass)
            try await rig.untilPictures(20, inSegment: 0)
            try await rig.until { rig.status?.sources.first?.pictureSize == .init(width: 360, height: 640) }
            let both = Self.scene(
                [Self.pane(Self.alice, 0, 180), Self.pane(Self.bob, 180, 180)], heard: [Self.alice, Self.bob],
                by: Transition(duration: 400, easing: .linear))
            try rig.apply(.mix(host: Self.alice), both, sources)
            try await rig.waitFor(.mix)
            try await rig.untilPictures(32, inSegment: 1)
            // The status names a scene only while it differs from the plan's.
            try await rig.until { rig.status?.scene == nil }
            try rig.apply(.bypass(Self.alice), alone, [sources[0]])
            try await rig.waitFor(.bypass)
            try await rig.untilPictures(8, inSegment: 2)
            let (segments, layouts) = (rig.segments, rig.layouts)
            try await rig.stop()
            expectNoGap(segments)
            try #require(segments.count == 3, "\(rig.account)")
            let stated = layouts.map(\.regions)
            #expect(stated.first == ["alice 360"] && layouts.first?.pictures == 0, "\(layouts)")
            #expect(stated.last == ["alice 360"] && stated.count { $0 == ["alice 180", "bob 180"] } == 1, "\(layouts)")
            #expect(zip(stated, stated.dropFirst()).allSatisfy { $0 != $1 }, "once for each change: \(layouts)")
            let mixed = segments[0].frames.count..<segments[0].frames.count + segments[1].frames.count
            #expect(layouts.dropFirst().dropLast().allSatisfy { mixed.contains($0.pictures) }, "\(layouts) of \(mixed)")
            var last = try await TestStreams.pictures(segments[0]).last.flatMap {
                TestMark.read($0.picture.frame, width: 360)
            }
            var widths: [Int] = []
            var oddities: [Int] = []
            for (index, (_, picture)) in try await TestStreams.pictures(segments[1]).enumerated() {
                // The host's mark shows that no picture of the host is lost or shown twice, and the width of the pane.
                let before = try #require(last)
                // On a busy machine the mix may repeat or drop some pictures.
                let found = [1, 0, 2].lazy.compactMap { step in
                    stride(from: 360, through: 180, by: -4).first {
                        TestMark.read(picture.frame, width: $0) == before + step
                    }.map { (width: $0, mark: before + step) }
                }.first
                let shown = try #require(found, "frame \(before + 1) after \(widths)")
                if shown.mark != before + 1 { oddities.append(index) }
                widths.append(shown.width)
                last = shown.mark
            }
            #expect(oddities.count <= max(3, widths.count / 5) && oddities.allSatisfy { $0 > 2 }, "\(oddities)")
            print("width of the host's pane in the mix, frame by frame: \(widths.prefix(16))")
            // The plan of the bypass cuts back to the host alone until the host's keyframe.
            let way = widths.prefix(30)
            #expect(way.first == 360)
            #expect(zip(way, way.dropFirst()).allSatisfy { $1 <= $0 && $0 - $1 <= 40 })
            #expect(Set(way).count >= 7)
            #expect((way.last ?? 0) <= 200)
        }

        @Test("A mix is made cheaper and whole again on air: no gap, no black picture, and the load is told")
        func levels() async throws {
            let video = try await TestStreams.video(count: 200).looped(4)
            let sound = try await TestStreams.audio(count: 470) { _ in 0 }.looped(4)
            let rig = try await RelayRig()
            rig.publish("alice", [video, sound])
            rig.publish("bob", [video])
            let sources = [
                PlannedSource(id: Self.alice, url: rig.url("alice")), PlannedSource(id: Self.bob, url: rig.url("bob")),
            ]
            let alone = Self.scene([Self.pane(Self.alice, 0, 360)], heard: [Self.alice])
            let both = Self.scene(
                [Self.pane(Self.alice, 0, 180), Self.pane(Self.bob, 180, 180)], heard: [Self.alice, Self.bob])
            func isMade(_ divisor: Int) async throws {
                try await rig.until { rig.status?.load?.mixer?.frameDivisor == divisor }
                try await rig.until("pictures are \(divisor) frames apart") {
                    let times = (rig.segments.last?.frames.suffix(4) ?? []).map(\.pts.inMilliseconds)
                    return times.count == 4
                        && zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 50 * Double(divisor)) < 1.5 }
                }
            }
            try rig.apply(.bypass(Self.alice), alone, [sources[0]])
            try await rig.waitFor(.bypass)
            #expect(rig.status?.load?.mixer == nil && rig.status?.load?.relaySeconds ?? 0 > 0)
            try rig.apply(.mix(host: Self.alice), both, sources)
            try await rig.waitFor(.mix)
            try await rig.untilPictures(8, inSegment: 1)
            try await isMade(1)
            for level in [2, 3] {
                try rig.apply(.mix(host: Self.alice), both, sources, level: level)
                try await isMade(level + 1)
            }
            // Back to one participant and again to two while frames are left out.
            try rig.apply(.bypass(Self.alice), alone, [sources[0]])
            try await rig.waitFor(.bypass)
            try rig.apply(.mix(host: Self.alice), both, sources, level: 2)
            try await rig.waitFor(.mix)
            try await isMade(3)
            try await rig.until { rig.status?.load?.mixer?.pace.made ?? 0 > 5 }
            let load = try #require(rig.status?.load?.mixer)
            print("after a mix of which each third frame is made: \(load)")
            #expect(load.cpuSeconds > 0)
            try rig.apply(.mix(host: Self.alice), both, sources)
            try await isMade(1)
            let segments = rig.segments
            try await rig.stop()
            try #require(segments.count == 4, "\(rig.account)")
            let times = segments.map { $0.frames.map(\.pts.inMilliseconds) }
            let steps = zip(times.joined(), times.joined().dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 > 0 && $0 <= 201.5 }, "\(steps.max() ?? 0)")
            for (track, isMix) in zip(times, [false, true, false, true]) {
                let steps = zip(track, track.dropFirst()).map { Int((($1 - $0) / 50).rounded()) }
                let kinds = Set(steps)
                if isMix {
                    #expect(kinds.isSuperset(of: [1, 3]), "\(steps)")
                } else {
                    // The second one may end after a single frame.
                    #expect(kinds.isSubset(of: [1]), "\(steps)")
                }
            }
            // From the bypass to the mix there is never more than one frame.
            for (before, after) in [(0, 1), (2, 3)] {
                let step = try #require(times[after].first) - (try #require(times[before].last))
                #expect(abs(step - 50) <= 1.5, "\(step) ms")
            }
            for index in [1, 3] {
                for (_, picture) in try await TestStreams.pictures(segments[index]) {
                    #expect(TestMark.read(picture.frame, width: 180) != nil, "a picture without the host")
                }
            }
            let audio = rig.sound.frames.map(\.pts.inMilliseconds)
            let begins = times.map { $0.first ?? 0 }
            for (before, after) in zip(audio, audio.dropFirst()) {
                #expect(abs(after - before - 21.33) < 2, "from \(before) to \(after) ms; splices at \(begins)")
            }
        }

        @Test(
            "A room of cards is on air as a mix as soon as somebody is heard; a camera makes a bypass of it, and back")
        func cards() async throws {
            let video = try await TestStreams.video(TestPicture(palette: [SIMD3(90, 128, 128)]), count: 200).looped(4)
            let sound = try await TestStreams.audio(count: 470) { 0.2 * sin(Float($0) * 0.1) }.looped(4)
            let rig = try await RelayRig()
            rig.publish("sound", [sound])
            rig.publish("camera", [video, sound])
            var card = Self.pane(Self.alice, 0, 360)
            card.isLive = false
            card.card.colour = .ocean
            let cards = Self.scene([card], heard: [Self.alice])
            func begin(_ rig: RelayRig) async throws -> Duration {
                let begin = ContinuousClock.now
                try rig.apply(
                    .mix(host: Self.alice), cards,
                    [PlannedSource(id: Self.alice, url: rig.url("sound"), video: false)])
                try await rig.waitFor(.mix)
                return ContinuousClock.now - begin
            }
            var times = [try await begin(rig)]
            try await rig.untilPictures(40, inSegment: 0)
            try await rig.until("two seconds of sound") { rig.sound.frames.count > 90 }
            try await rig.until { rig.status?.sources.first?.state == .live }
            #expect(rig.status?.mixerError == nil)
            let heard = try await TestStreams.sound(rig.sound).flatMap { $0.samples.map(abs) }.max() ?? 0
            #expect(heard > 0.15, "sound alone is heard at once")
            let live = Self.scene([Self.pane(Self.alice, 0, 360)], heard: [Self.alice])
            let camera = PlannedSource(id: Self.alice, url: rig.url("camera"))
            try rig.apply(.bypass(Self.alice), live, [camera])
            try await rig.waitFor(.bypass)
            try await rig.untilPictures(20, inSegment: 1)
            var off = camera
            off.video = false
            try rig.apply(.mix(host: Self.alice), cards, [off])
            try await rig.waitFor(.mix)
            try await rig.untilPictures(20, inSegment: 2)
            try rig.apply(.bypass(Self.alice), live, [camera])
            try await rig.waitFor(.bypass)
            try await rig.untilPictures(8, inSegment: 3)
            let segments = rig.segments
            try await rig.stop()
            for _ in 0..<2 {
                let other = try await RelayRig()
                other.publish("sound", [sound])
                times.append(try await begin(other))
                try await other.stop()
            }
            times.sort()
            print("a room of cards is on air after \(times)")
            // Most of it is the start of a process, which takes long on a busy machine.
            #expect(times[1] < .seconds(8))
            expectNoGap(segments)
            try #require(segments.count == 4, "\(rig.account)")
            let ocean = Int(CanvasColour(signal: .unsignalled, canvas: Self.canvas).planes(of: .ocean).y)
            for index in [0, 2] {
                let lumas = try await TestStreams.pictures(segments[index]).map { _, picture in
                    picture.frame.withPlane(0) { bytes, stride, _, _ in Int(bytes[20 * stride + 340]) } ?? 0
                }
                // The camera returns before its keyframe allows a copy: first in the mix.
                let cards = lumas.prefix { abs($0 - ocean) <= 3 }
                #expect(cards.count >= 8, "\(lumas), not \(ocean)")
                #expect(lumas[cards.count...].allSatisfy { abs($0 - 90) <= 3 }, "\(lumas)")
            }
        }
    }
}
