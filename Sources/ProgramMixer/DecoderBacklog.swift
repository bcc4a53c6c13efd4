import EncodedMedia

/// Timestamps, in program time, of the pictures that a decoder has been given and has not delivered.
struct DecoderBacklog: Sendable {
    /// Longest backlog that is waited for, in pictures. A decoder that is further behind is working through the past.
    static let most = 8

    private(set) var times: [MediaTime] = []
    private var delivered: MediaTime?

    mutating func noteFed(_ time: MediaTime) {
        // The decoder may deliver a picture before the feeding thread notes it.
        if let delivered, time <= delivered { return }
        times.append(time)
        // A decoder that delivers nothing is given up; until then, this bounds the list.
        if times.count > 8 * Self.most { times.removeFirst() }
    }

    /// Notes a delivered picture. Pictures come in the order of their timestamps: an earlier one that has not come is
    /// not coming.
    mutating func noteDelivered(_ time: MediaTime) {
        delivered = time
        times.removeAll { $0 <= time }
    }

    /// Whether a wanted picture is about to be delivered.
    func contains(where isWanted: (MediaTime) -> Bool) -> Bool {
        times.count <= Self.most && times.contains(where: isWanted)
    }
}
