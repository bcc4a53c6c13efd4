import EncodedMedia

/// Timestamps, in program time, of the pictures that were pushed to a decoder and have not been delivered.
struct DecoderBacklog: Sendable {
    /// Longest backlog, in pictures, for which the mix waits. A decoder that is further behind is working through old
    /// pictures.
    static let most = 8

    private(set) var times: [MediaTime] = []
    private var delivered: MediaTime?

    mutating func noteFed(_ time: MediaTime) {
        // The decoder may deliver a picture before the feeding thread notes it.
        if let delivered, time <= delivered { return }
        times.append(time)
        // A decoder that delivers nothing is eventually abandoned; until then, this bounds the list.
        if times.count > 8 * Self.most { times.removeFirst() }
    }

    /// Records a delivered picture. Pictures arrive in the order of their timestamps: an earlier one that has not
    /// arrived never will.
    mutating func noteDelivered(_ time: MediaTime) {
        delivered = time
        times.removeAll { $0 <= time }
    }

    /// Returns whether a wanted picture is about to be delivered.
    func contains(where isWanted: (MediaTime) -> Bool) -> Bool {
        times.count <= Self.most && times.contains(where: isWanted)
    }
}
