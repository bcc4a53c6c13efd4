import LayoutEngine
import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct IdlePlaybackTests {
    private static let list = IdlePlan(
        items: ["a", "b", "c"].map { IdlePlan.Item(name: $0, path: "/media/\($0)") }, loops: true)

    private static func plan(
        _ idle: IdlePlan? = list, mode: ProgramPlan.Mode = .slate, revision: Int = 1
    ) -> ProgramPlan {
        let pane = Pane(source: SourceID.idle.rawValue, user: "", x: 0, y: 0, width: 720, height: 1280)
        let scene = Scene(
            canvas: .portrait, panes: [pane], sound: SceneSound(levels: [.init(source: SourceID.idle.rawValue)]))
        return ProgramPlan(
            revision: revision, task: "t", room: "r", sources: [], mode: mode, scene: scene, outputs: [], causedAt: 0,
            cause: "", idle: idle)
    }

    private static func playing(_ name: String) -> IdleStatus { IdleStatus(state: .playing, media: name) }

    @Test func aListIsPlayedFromItsBeginningEachTimeTheRoomIsEmpty() {
        var playback = IdlePlayback()
        let first = playback.take(Self.plan())
        #expect(first == Self.plan())
        #expect(playback.playlist == MixerPlaylist(plan: Self.list))
        let isOver = playback.report(Self.playing("b"), item: 1)
        #expect(!isOver)
        #expect(playback.status == Self.playing("b"))
        // Another plan with the same list changes nothing.
        _ = playback.take(Self.plan(revision: 2))
        #expect(playback.status == Self.playing("b"))
        // The idle media continue until the participant can be shown, or has left again.
        _ = playback.take(Self.plan(mode: .bypass("alice/camera")))
        #expect(playback.playlist != nil && playback.status == Self.playing("b"))
        _ = playback.take(Self.plan(revision: 4))
        playback.leave()
        #expect(playback.status == Self.playing("b"))
        _ = playback.take(Self.plan(mode: .bypass("alice/camera")))
        playback.leave()
        #expect(playback.playlist == nil && playback.status == nil)
        _ = playback.take(Self.plan())
        #expect(playback.playlist == MixerPlaylist(plan: Self.list) && playback.status == nil)
    }

    @Test func aListThatHasEndedLeavesTheSlate() {
        var playback = IdlePlayback()
        _ = playback.take(Self.plan())
        let isOver = playback.report(IdleStatus(state: .ended), item: 0)
        #expect(isOver)
        let slate = playback.take(Self.plan(revision: 2))
        #expect(slate.idle == nil && slate.scene.panes.isEmpty && slate.scene.sound.levels.isEmpty)
        #expect(playback.playlist == nil && playback.status?.state == .ended)
        // A late report of the mixer that is ending.
        let isOverAgain = playback.report(Self.playing("a"), item: 0)
        #expect(!isOverAgain && playback.status?.state == .ended)
        // Another list replaces it.
        let other = IdlePlan(items: [.init(name: "d", path: "/d")], loops: false)
        let next = playback.take(Self.plan(other))
        #expect(next.idle == other && playback.playlist?.plan == other)
    }

    @Test func anItemThatEndsTwoMixersIsLeftOut() {
        var playback = IdlePlayback()
        _ = playback.take(Self.plan())
        // Before anything has played, no item is to blame.
        let nobody = playback.mixerEnded()
        #expect(nobody.message == nil && playback.playlist?.first == 0)
        _ = playback.report(Self.playing("b"), item: 1)
        let first = playback.mixerEnded()
        #expect(first.message == nil)
        #expect(playback.playlist == MixerPlaylist(plan: Self.list, first: 2))
        _ = playback.report(Self.playing("c"), item: 2)
        _ = playback.report(Self.playing("b"), item: 1)
        let (message, isOver) = playback.mixerEnded()
        #expect(message?.hasPrefix("b is not played any more") ?? false)
        #expect(!isOver && playback.playlist == MixerPlaylist(plan: Self.list, first: 2, skipped: [1]))
        #expect(playback.status?.error?.hasPrefix("b: the mixer ended 2 times") ?? false)
    }

    @Test(arguments: [true, false]) func aListOfWhichNothingIsLeftIsASlate(loops: Bool) {
        var playback = IdlePlayback()
        let list = IdlePlan(items: [.init(name: "a", path: "/a")], loops: loops)
        _ = playback.take(Self.plan(list))
        _ = playback.report(Self.playing("a"), item: 0)
        let first = playback.mixerEnded()
        #expect(!first.isOver && playback.playlist?.first == 0, "once more")
        _ = playback.report(Self.playing("a"), item: 0)
        let end = playback.mixerEnded()
        #expect(end.isOver && end.message != nil && playback.status?.state == .failed)
        let slate = playback.take(Self.plan(list, revision: 2))
        #expect(slate.scene.panes.isEmpty)
    }

    @Test func reportsOfUnknownItemsAreIgnored() {
        var playback = IdlePlayback()
        let early = playback.report(Self.playing("x"), item: 0)
        _ = playback.take(Self.plan())
        let unknown = [3, -1].map { item in playback.report(Self.playing("x"), item: item) }
        let end = playback.mixerEnded()
        #expect(!early && unknown == [false, false] && playback.status == nil && end.message == nil)
    }
}
