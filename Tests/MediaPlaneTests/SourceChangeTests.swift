import EncodedMedia
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramMixer
@testable import ProgramRelay

extension RealTime {
    /// Changes of a source within one connection, and damage, as seen by a viewer.
    @Suite(.serialized, .timeLimit(.minutes(10))) struct SourceChangeTests {
        /// A change of the stream at `time`, replacing the publisher's previous form.
        enum Change: String, CaseIterable, Sendable {
            case size, rate, sameSizeOtherSet, setInBandOnly, headerInTheMiddle, sampleRate, channels, garbage,
                truncation

            /// A change of the picture, one of the sound, a late one and one that damages.
            static let cases = TestLength.of(
                short: [size, headerInTheMiddle, sampleRate, truncation], long: allCases)
        }

        private static let alice: SourceID = "alice/camera"
        private static let bob: SourceID = "bob/camera"
        private static let time = MediaTime.seconds(4)

        /// Returns a stream of 12 s and more that changes after four; marks continue counting where the frame rate
        /// stays.
        private static func stream(_ change: Change) async throws -> [FLVTag] {
            let first = try await TestStreams.video(count: 80, keyInterval: 20)
            let sound = try await TestStreams.audio(count: 187) { _ in 0.1 }
            var picture = TestPicture()
            var options = "colorprim=undef:transfer=undef:colormatrix=undef"
            switch change {
            case .size, .setInBandOnly: (picture.width, picture.height) = (640, 360)
            case .rate: picture.fps = 10
            case .sameSizeOtherSet: options += ":ref=3:cabac=1"
            default: break
            }
            var second = try await TestStreams.video(picture, count: picture.fps * 9, keyInterval: 20, options: options)
            let secondSound = try await TestStreams.audio(
                rate: change == .sampleRate ? 44_100 : 48_000, channels: change == .channels ? 1 : 2, count: 380
            ) { _ in 0.1 }
            if change == .setInBandOnly {
                let configuration = VideoConfiguration(second.configuration)
                for index in second.frames.indices {
                    second.frames[index].payload = second.frames[index].withParameterSets(of: configuration)
                }
            }
            var tags = TestTrack.tags(of: [first, sound])
            switch change {
            case .headerInTheMiddle:
                // The header of the second stream comes half a group before its first IDR.
                let at = Self.time - .milliseconds(500)
                let index = tags.firstIndex { $0.timestamp >= at.roundedMilliseconds } ?? tags.endIndex
                tags.insert(FLVTag(second.configuration, at: at, origin: .zero), at: index)
            case .garbage, .truncation:
                // The last half second before the change is damaged.
                for index in tags.indices where tags[index].timestamp >= 3_500 {
                    guard case .frame(let track, _) = tags[index].role else { continue }
                    let head = track == .video ? 5 : 2
                    if change == .truncation {
                        tags[index].body = Array(tags[index].body.prefix(head + (tags[index].body.count - head) / 2))
                    } else {
                        for byte in head..<tags[index].body.count {
                            tags[index].body[byte] = UInt8(truncatingIfNeeded: byte &* 151 &+ index &* 31)
                        }
                    }
                }
            default: break
            }
            let moved = [second, secondSound].map { $0.moved(by: Self.time) }
            if change != .setInBandOnly { tags.append(FLVTag(second.configuration, at: Self.time, origin: .zero)) }
            tags.append(FLVTag(secondSound.configuration, at: Self.time, origin: .zero))
            return tags
                + moved.flatMap(\.frames).sorted { $0.dts < $1.dts }.map { FLVTag($0, origin: .zero) }
        }

        /// The guest changes: the host's pane continues, and the guest's is live again with the guest's next IDR.
        @Test(arguments: Change.cases) func aGuestChangesInTheMiddle(change: Change) async throws {
            let rig = try await RelayRig()
            rig.publish(
                "alice",
                [
                    try await TestStreams.video(count: 400, keyInterval: 20),
                    try await TestStreams.audio(count: 940) { _ in 0 },
                ])
            rig.publish("bob", tags: try await Self.stream(change))
            let sources = [
                PlannedSource(id: Self.alice, url: rig.url("alice")), PlannedSource(id: Self.bob, url: rig.url("bob")),
            ]
            try rig.apply(.mix(host: Self.alice), Scene.columns([Self.alice, Self.bob]), sources)
            try await rig.waitFor(.mix)
            // Seven seconds, which contain the change.
            #expect(try await outputEventually { rig.segments.last?.frames.count ?? 0 >= 140 }, "\(rig.notes)")
            let segments = rig.segments
            #expect(rig.connections(of: "bob") == 1, "\(rig.notes)")
            #expect(
                try await outputEventually { rig.status?.sources.first { $0.id == Self.bob }?.state == .live },
                "\(rig.notes)")
            try await rig.stop()
            let mix = try #require(segments.last)
            var (host, guest): ([Int?], [Int?]) = ([], [])
            for (_, picture) in try await TestStreams.pictures(mix) {
                host.append(TestMark.read(picture.frame, width: 180))
                guest.append(TestMark.read(picture.frame, x: 180, width: 180))
            }
            let shown = host.compactMap(\.self)
            // On a busy machine the mix may repeat or drop a picture.
            let oddities = zip(shown, shown.dropFirst()).map { $1 - $0 }.filter { $0 != 1 }
            #expect(shown.count > 80 && oddities.count <= 3 && oddities.allSatisfy { 0...2 ~= $0 }, "\(shown)")
            // Longest time for which the guest's pane is frozen, in frames of 50 ms.
            var (longest, run) = (0, 0)
            for (before, after) in zip(guest.dropFirst(20), guest.dropFirst(21)) {
                run = before == after ? run + 1 : 0
                longest = max(longest, run)
            }
            print("\(change): the guest's pane stands still for \(longest) frames; marks \(guest.map { $0 ?? -1 })")
            let isDamage = change == .garbage || change == .truncation
            #expect(longest <= (isDamage ? 18 : 9), "\(change)")
            #expect(
                guest.suffix(20).contains { $0 != nil && $0 != guest.suffix(20).first }, "the guest's pane is frozen")
        }

        /// The host is copied: viewers stay connected, and times continue. All changes at once, because a copy costs
        /// almost nothing.
        @Test func aHostChangesInTheMiddle() async throws {
            var streams: [(change: Change, tags: [FLVTag])] = []
            for change in Change.allCases { streams.append((change, try await Self.stream(change))) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (change, tags) in streams { group.addTask { try await Self.copy(tags, change) } }
                try await group.waitForAll()
            }
        }

        private static func copy(_ tags: [FLVTag], _ change: Change) async throws {
            let rig = try await RelayRig()
            rig.publish("alice", tags: tags)
            try rig.apply(
                .bypass(alice), Scene.columns([alice]), [PlannedSource(id: alice, url: rig.url("alice"))])
            try await rig.waitFor(.bypass)
            #expect(
                try await outputEventually {
                    let pictures = rig.segments.flatMap(\.frames)
                    guard let first = pictures.first, let last = pictures.last else { return false }
                    return last.dts - first.dts >= .seconds(7)
                }, "\(change): \(rig.notes)")
            #expect(rig.connections(of: "alice") == 1 && rig.status?.onAir == .bypass, "\(change): \(rig.notes)")
            let pictures = rig.segments.flatMap(\.frames)
            let steps = zip(pictures, pictures.dropFirst()).map { ($1.dts - $0.dts).inMilliseconds }
            #expect(steps.allSatisfy { 0 < $0 && $0 <= 110 }, "\(change): \(steps)")
            let sounds = rig.sound.frames.map(\.dts)
            #expect(zip(sounds, sounds.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 < .milliseconds(90) }, "\(change)")
            let seconds = (pictures.last?.dts ?? .zero) - (pictures.first?.dts ?? .zero)
            #expect(seconds > .seconds(5), "\(change): \(seconds)")
            #expect(rig.segments.last?.frames.isEmpty == false, "\(change)")
            try await rig.stop()
        }
    }
}
