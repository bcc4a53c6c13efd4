import EncodedMedia

/// The times at which a switch passed its stages, in ms after the event that caused it (`ProgramPlan.causedAt`).
///
/// A stage is `nil` if it was passed before the event, or does not occur in the switch. The first keyframes of the
/// sources are no stage of their own: they had all arrived `latencyMs - afterKeyframeMs` after the event.
public struct SwitchStages: Hashable, Codable, Sendable {
    /// The relay had the plan.
    public var planMs: Double?
    /// The mixer was told to run: its setup was sent.
    public var mixerMs: Double?
    /// The mixer's first encoded picture had arrived at the relay.
    public var pictureMs: Double?
    /// The relay held pictures for the splice: to leave a participant's bypass, those from the time for which the mixer
    /// was asked for an IDR; to enter one, its own from its IDR on.
    public var heldMs: Double?

    /// Creates the stages from points in time on one clock.
    ///
    /// - Parameter event: Time of the event. What was earlier is left out.
    public init(
        since event: MediaTime, plan: MediaTime? = nil, mixer: MediaTime? = nil, picture: MediaTime? = nil,
        held: MediaTime? = nil
    ) {
        func elapsed(_ time: MediaTime?) -> Double? {
            time.flatMap { $0 < event ? nil : ($0 - event).inMilliseconds }
        }
        planMs = elapsed(plan)
        mixerMs = elapsed(mixer)
        pictureMs = elapsed(picture)
        heldMs = elapsed(held)
    }

    /// The stages with their numbers limited to usable ranges.
    var bounded: SwitchStages {
        var stages = self
        stages.planMs = planMs?.boundedMilliseconds
        stages.mixerMs = mixerMs?.boundedMilliseconds
        stages.pictureMs = pictureMs?.boundedMilliseconds
        stages.heldMs = heldMs?.boundedMilliseconds
        return stages
    }
}
