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

    private init(deadband: MediaTime, step: MediaTime) {
        self.deadband = deadband
        self.step = step
    }

    /// Less than half of the millisecond in which FLV counts: pictures and sound each follow on their own, and what
    /// they are apart viewers get as a shift of A/V.
    private static let deadband = MediaTime(nanoseconds: 400_000)

    /// For the ticks of the canvas.
    static let video = GridFollower(deadband: deadband, step: .milliseconds(1))
    /// For the frames of the mix's sound: steps that timestamps in whole milliseconds hide.
    static let sound = GridFollower(deadband: deadband, step: MediaTime(nanoseconds: 200_000))

    /// Takes the averaged distance of the host's frames from the moved grid; call once a frame.
    ///
    /// - Returns: By how much it moved: as much nearer the host's frames are from now on, and their average with them.
    mutating func follow(_ error: MediaTime) -> MediaTime {
        if error.magnitude > deadband { isFollowing = true }
        if error.magnitude < deadband / 5 { isFollowing = false }
        guard isFollowing else { return .zero }
        let wanted = (error / 20).nanoseconds
        let movement = MediaTime(nanoseconds: min(step.nanoseconds, max(-step.nanoseconds, wanted)))
        offset += movement
        return movement
    }
}
