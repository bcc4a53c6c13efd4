import EncodedMedia

/// Moves a mix's grid slowly to follow the frames of its host.
///
/// A splice back to the host's frames then finds them on the grid, no matter how long the mix was on air and how the
/// host's clock drifts. Timestamp noise below `deadband` moves nothing: a correct grid stays exactly as it is.
struct GridFollower {
    /// Total movement of the grid so far.
    private(set) var offset: MediaTime = .zero
    private var isFollowing = false

    /// Error above which a movement starts. The movement ends below a fifth of it.
    let deadband: MediaTime
    /// Largest movement per frame.
    let step: MediaTime

    private init(deadband: MediaTime, step: MediaTime) {
        self.deadband = deadband
        self.step = step
    }

    /// 0.4 ms, less than half of FLV's unit of 1 ms. Pictures and audio follow independently, and viewers get the
    /// difference as an A/V shift.
    private static let deadband = MediaTime(nanoseconds: 400_000)

    /// The follower for the ticks of the canvas, in steps of at most 1 ms.
    static let video = GridFollower(deadband: deadband, step: .milliseconds(1))
    /// The follower for the frames of the mix's audio, in steps of at most 0.2 ms, which timestamps in whole
    /// milliseconds hide.
    static let sound = GridFollower(deadband: deadband, step: MediaTime(nanoseconds: 200_000))

    /// Moves the grid by part of the averaged distance of the host's frames from it. Call it once a frame.
    ///
    /// - Returns: The movement. From now on the host's frames, and thus their average distance, are nearer by this
    ///   amount.
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
