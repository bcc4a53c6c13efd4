import EncodedMedia
import LayoutEngine
import MixModel

extension MixState {
    /// The newest requested scene.
    var newestScene: Scene? { wanted?.scene ?? player?.scene }

    mutating func show(_ scene: Scene, at now: MediaTime) {
        if started == nil {
            started = now
            player = ScenePlayer(scene)
        } else {
            // The wait is not restarted, so that a burst of scenes does not delay the first.
            wanted = WantedScene(scene: scene, since: wanted?.since ?? now)
        }
    }

    /// Changes the newest requested scene. Does nothing before the first one.
    mutating func change(_ difference: SceneDifference, at now: MediaTime) {
        if let newestScene { show(newestScene.applying(difference), at: now) }
    }

    /// Records that the source has ended. Its last picture stays until no scene contains it.
    mutating func end(_ id: SourceID) { sources[id]?.hasEnded = true }

    /// Switches to the wanted scene once every new source in it has a picture for this tick and all its graphics are
    /// drawn, or after `Patience.scene`.
    mutating func applyWantedScene(at time: MediaTime, tick: Int64, now: MediaTime, clock: Int) {
        guard let wanted else { return }
        let isDrawn = !isAwaitingGraphics(of: wanted.scene, now: now, clock: clock, waitingSince: wanted.since)
        let shown = Set(player?.scene.panes.filter(\.isLive).map(\.source) ?? [])
        let isReady = wanted.scene.panes.allSatisfy { pane in
            guard pane.isLive, !shown.contains(pane.source), let source = sources[SourceID(pane.source)],
                source.fedVideo != nil, !source.hasEnded
            else { return true }
            switch source.sampler.choice(tick: time) {
            case .frame: return true
            case .pending(let newest): return newest.map { $0 > time - Patience.normal - interval } ?? false
            }
        }
        guard isDrawn && isReady || now - wanted.since >= Patience.scene else { return }
        drawnBefore = drawn
        player?.change(to: wanted.scene, at: tick)
        self.wanted = nil
        shelf.sweep(unusedSince: nextTick - 1)
    }

    /// Drops ended sources that are neither shown nor heard, nor wanted by the next scene.
    mutating func forgetEnded(shown: Scene) {
        guard sources.values.contains(where: \.hasEnded) else { return }
        var named: Set<SourceID> = []
        for scene in [shown, player?.scene, wanted?.scene].compactMap({ $0 }) {
            named.formUnion(scene.panes.map { SourceID($0.source) })
            named.formUnion(scene.sound.levels.map { SourceID($0.source) })
        }
        sources = sources.filter { !$0.value.hasEnded || named.contains($0.key) }
    }
}
