import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Pictures of participants who are not visible.
@Suite("Pictures of the unseen") struct HeldGroupsTests {
    private static let alice: SourceID = "alice/camera"
    private static let bob: SourceID = "bob/camera"
    private static let pace = MediaTime.milliseconds(1)

    private static func frame(_ number: Int, isIDR: Bool = false, bytes: Int = 1000) -> EncodedFrame {
        let time = MediaTime.milliseconds(number * 50)
        return EncodedFrame(
            track: .video, pts: time, dts: time, isIDR: isIDR, payload: [UInt8](repeating: 0, count: bytes))
    }

    @Test("Are held from a keyframe on, and decoded from there when somebody sees them")
    func held() {
        var groups = HeldGroups()
        func take(_ frame: EncodedFrame, isUnseen: Bool = true) -> HeldGroups.Verdict {
            groups.take(frame, of: Self.alice, isUnseen: isUnseen, pace: Self.pace)
        }
        #expect(take(Self.frame(0)) == .decode([Self.frame(0)]), "no keyframe yet")
        #expect(take(Self.frame(1, isIDR: true)) == .held)
        #expect(take(Self.frame(2)) == .held)
        // The newest group counts.
        #expect(take(Self.frame(3, isIDR: true)) == .held)
        #expect(take(Self.frame(4)) == .held)
        #expect(groups.sources == [Self.alice])
        #expect(groups.release(Self.alice) == [Self.frame(3, isIDR: true), Self.frame(4)])
        #expect(groups.sources.isEmpty)
        #expect(take(Self.frame(5)) == .decode([Self.frame(5)]), "in the same group")
        #expect(take(Self.frame(6, isIDR: true), isUnseen: false) == .decode([Self.frame(6, isIDR: true)]))
        #expect(take(Self.frame(7)) == .decode([Self.frame(7)]))
    }

    @Test("A group that would take too long to decode is decoded as it comes")
    func long() {
        var groups = HeldGroups()
        let most = Int(HeldGroups.longest.nanoseconds / Self.pace.nanoseconds)
        for number in 0..<most {
            #expect(
                groups.take(Self.frame(number, isIDR: number == 0), of: Self.alice, isUnseen: true, pace: Self.pace)
                    == .held)
        }
        let verdict = groups.take(Self.frame(most), of: Self.alice, isUnseen: true, pace: Self.pace)
        #expect(verdict == .decode((0...most).map { Self.frame($0, isIDR: $0 == 0) }))
        let next = Self.frame(most + 1)
        #expect(groups.take(next, of: Self.alice, isUnseen: true, pace: Self.pace) == .decode([next]))
        #expect(groups.take(Self.frame(999, isIDR: true), of: Self.alice, isUnseen: true, pace: Self.pace) == .held)
    }

    @Test("So are the groups of many people together, and one that is large")
    func large() {
        var groups = HeldGroups()
        let ids = (0..<4).map { SourceID("user\($0)/camera") }
        var held = 0
        for number in 0..<100 {
            for id in ids {
                let frame = Self.frame(number, isIDR: number == 0)
                if groups.take(frame, of: id, isUnseen: true, pace: Self.pace) == .held { held += 1 }
            }
        }
        #expect(held > 250 && groups.sources.count < 4)
        #expect(MediaTime.milliseconds(groups.sources.count * 100) <= HeldGroups.longestOfAll)

        groups = HeldGroups()
        var bytes = 0
        for number in 0..<100 {
            let frame = Self.frame(number, isIDR: number == 0, bytes: 1 << 20)
            guard groups.take(frame, of: Self.bob, isUnseen: true, pace: Self.pace) == .held else { break }
            bytes += frame.footprint
        }
        #expect((HeldGroups.mostBytes / 2...HeldGroups.mostBytes).contains(bytes))
    }

    @Test("A source that no scene has ever shown stays unseen when its pictures are held")
    func neverSeen() throws {
        let setup = MixerHarness.setup(width: 64, height: 64, host: Self.alice, videoOrigin: .zero)
        var state = MixState(setup: setup)
        state.begin(Self.bob)
        state.noteFed(.video, at: .zero, of: Self.bob, now: .zero)
        var time = MixState.Patience.unseen
        #expect(!state.isUnseen(Self.bob, now: time))
        for _ in 0..<3 {
            time += .milliseconds(100)
            #expect(state.isUnseen(Self.bob, now: time))
            state.hide(Self.bob)
        }
    }

    @Test("A source is unseen some seconds after the last scene that showed it, never the host")
    func unseen() throws {
        let canvas = Canvas(width: 64, height: 64, fps: 20)
        let setup = MixerHarness.setup(width: 64, height: 64, host: Self.alice, videoOrigin: .zero)
        var state = MixState(setup: setup)
        func scene(_ id: SourceID) -> Scene {
            Scene(canvas: canvas, panes: [Pane(source: "\(id)", user: "", x: 0, y: 0, width: 64, height: 64)])
        }
        func make(_ time: MediaTime) throws {
            for id in [Self.alice, Self.bob] {
                state.noteFed(.video, at: time, of: id, now: time)
                state.add(try MixerStage.picture(.moss), at: time, of: id, now: time)
            }
            for _ in 0..<3 { _ = state.nextVideo(now: time, epoch: 0) }
        }
        let patience = MixState.Patience.unseen
        state.begin(Self.alice)
        state.begin(Self.bob)
        state.show(scene(Self.bob), at: .zero)
        var time = MediaTime.zero
        while time < .seconds(8) {
            try make(time)
            #expect(!state.isUnseen(Self.bob, now: time) && !state.isUnseen(Self.alice, now: time))
            time += .milliseconds(50)
        }
        state.show(scene(Self.alice), at: time)
        try make(time)
        #expect(!state.isUnseen(Self.bob, now: time))
        #expect(!state.isUnseen(Self.bob, now: time + patience - .milliseconds(100)))
        #expect(state.isUnseen(Self.bob, now: time + patience + .milliseconds(100)))
        state.hide(Self.bob)
        #expect(state.sources[Self.bob]?.fedVideo == nil && state.sources[Self.bob]?.pictures.isEmpty == true)
        state.show(scene(Self.bob), at: time + patience * 2)
        #expect(!state.isUnseen(Self.bob, now: time + patience * 2), "wanted again")
        #expect(!state.isUnseen("nobody/camera", now: time))
    }
}
