import EncodedMedia

/// Limits the messages that a relay sends to operators: sources, mixers and outputs that keep failing in new ways must
/// not fill the timeline and the log. Pure.
struct NoteLimit {
    /// Number of messages allowed in a burst. `pause`: time after which another one is allowed.
    static let burst = 100
    static let pause = MediaTime.seconds(6)

    private var taken = 0
    private var since = MediaTime.zero
    private var omitted = 0

    /// Counts a message.
    ///
    /// - Returns: The number of messages dropped before this one; `nil` if this one must be dropped.
    mutating func take(now: MediaTime) -> Int? {
        let regained = Int(clamping: (now - since).nanoseconds / Self.pause.nanoseconds)
        if regained >= taken {
            (taken, since) = (0, now)
        } else if regained > 0 {
            taken -= regained
            since += Self.pause * Int64(regained)
        }
        guard taken < Self.burst else {
            omitted = omitted.saturatingSum(1)
            return nil
        }
        taken += 1
        defer { omitted = 0 }
        return omitted
    }
}
