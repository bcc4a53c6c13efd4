import MixModel

/// The pictures that a decoder has been given and has not delivered, by their timestamps in program time.
struct DecoderBacklog: Sendable {
    /// A decoder that is further behind works through the past: it is not waited for.
    static let most = 8

    private(set) var times: [MediaTime] = []
    private var delivered: MediaTime?

    mutating func noteFed(_ time: MediaTime) {
        // It may have been quicker than whoever fed it.
        if let delivered, time <= delivered { return }
        times.append(time)
        // A decoder that delivers nothing is given up; until then this is bounded.
        if times.count > 8 * Self.most { times.removeFirst() }
    }

    /// Pictures come in the order of their timestamps: one before this that has not come is not to come.
    mutating func noteDelivered(_ time: MediaTime) {
        delivered = time
        times.removeAll { $0 <= time }
    }

    /// Whether one of these is about to be delivered.
    func contains(where isWanted: (MediaTime) -> Bool) -> Bool {
        times.count <= Self.most && times.contains(where: isWanted)
    }
}
