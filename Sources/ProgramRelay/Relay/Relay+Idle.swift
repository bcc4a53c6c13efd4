import MixModel
import ProgramSplicer

/// Media that is played while no participant can be shown.
extension Relay {
    /// Returns whether the idle media stays on air for a moment, because the next participant cannot be shown yet.
    func keepsIdleMedia(_ plan: ProgramPlan, _ facts: [SourceID: ProgramDirector.SourceFact]) -> Bool {
        guard plan.mode != .slate, splicer.onAir?.isMixer ?? false, sceneOnAir?.isIdle ?? false else { return false }
        return !(hostID.flatMap { facts[$0]?.isDecodable } ?? false)
    }

    /// Handles the mixer's report on the idle media.
    func idleReported(_ status: IdleStatus, item: Int) {
        if idle.report(status, item: item) { idleEnded() }
        reportStatus()
    }

    /// Handles the unexpected end of the mixer. Its successor continues with the next file.
    func playingMixerEnded() {
        mixer = nil
        let (message, isOver) = idle.mixerEnded()
        if let message { note(code: "idle-media-failed", message) }
        if isOver { idleEnded() }
    }

    /// Shows the slate after the end of the media.
    private func idleEnded() {
        plan = plan.map { idle.take($0) }
        reconsider()
    }
}
