import MixModel

/// Moves a mix's grid slowly after the host whose frames it was laid on, so that a splice back to the host's frames
/// finds them where the grid is, however long the mix was on air and whatever the host's clock does.
///
/// Timestamp noise below `deadband` moves nothing: a grid that is right stays exactly as it is.
struct GridFollower {
    /// By how much the grid has been moved.
    private(set) var offset: MediaTime = .zero
    private var isFollowing = false

    /// Larger errors start a movement, errors below a fifth of it end it.
    let deadband: MediaTime
    /// Largest movement at once.
    let step: MediaTime

    init(deadband: MediaTime, step: MediaTime) {
        self.deadband = deadband
        self.step = step
    }

    /// Takes the averaged distance of the host's frames from the moved grid; call once a frame.
    mutating func follow(_ error: MediaTime) {
        if error.magnitude > deadband { isFollowing = true }
        if error.magnitude < deadband / 5 { isFollowing = false }
        guard isFollowing else { return }
        let wanted = (error / 20).nanoseconds
        offset += MediaTime(nanoseconds: min(step.nanoseconds, max(-step.nanoseconds, wanted)))
    }
}
