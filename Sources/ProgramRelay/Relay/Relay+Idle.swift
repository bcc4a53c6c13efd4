import MixModel
import ProgramSplicer

/// Media that are played while no participant can be shown.
extension Relay {
    /// Whether the idle media on air stay for a moment, because nothing can be shown yet of the participant who follows.
    func keepsIdleMedia(_ plan: ProgramPlan, _ facts: [SourceID: ProgramDirector.SourceFact]) -> Bool {
        guard plan.mode != .slate, splicer.onAir?.isMixer ?? false, sceneOnAir?.isIdle ?? false else { return false }
        return !(hostID.flatMap { facts[$0]?.isDecodable } ?? false)
    }

    /// Takes what the mixer says about the idle media.
    func idleReported(_ status: IdleStatus, item: Int) {
        if idle.report(status, item: item) { idleEnded() }
        reportStatus()
    }

    /// Forgets the mixer, which has ended unexpectedly. Its successor goes on with the next file.
    func playingMixerEnded() {
        mixer = nil
        let (message, isOver) = idle.mixerEnded()
        if let message { note(code: "idle-media-failed", message) }
        if isOver { idleEnded() }
    }

    /// Shows the slate in place of the media, which are over.
    private func idleEnded() {
        plan = plan.map { idle.take($0) }
        reconsider()
    }
}
