import EncodedMedia

/// The gate in front of a source's timeline. Items that pass are within the bounds of any real live stream, no matter
/// what the publisher sends.
///
/// A value that belongs to one address of a source. It outlives connections, so that a server gains nothing by closing
/// one and sending as much again on the next.
package struct SourceGate: Sendable {
    /// A rate of some quantity, with the burst that is allowed beyond it.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Double
        /// The amount that may arrive at once. Servers send their cached group of pictures as fast as they can.
        package var burst: Double

        package init(perSecond: Double, burst: Double) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    package struct Limits: Hashable, Sendable {
        /// Largest distance between a picture's decoding and its presentation. H.264 reorders at most 16 pictures
        /// (ITU-T H.264, `max_num_reorder_frames` in E.2.1), which is 3.2 s at 5 pictures per second.
        package var compositionOffset = MediaTime.seconds(5)
        /// Items: today's formats reach 240 pictures and 94 audio frames per second.
        package var items = Rate(perSecond: 2_000, burst: 20_000)
        /// Bytes, as counted by `MediaItem.footprint`.
        package var bytes = Rate(perSecond: 25_000_000, burst: 128_000_000)
        /// Codec configurations that differ from the previous one. Each costs a decoder, and a change of the plan.
        package var configurations = Rate(perSecond: 0.5, burst: 16)

        package init() {}
    }

    /// The bound that a connection has exceeded, so that it must be ended.
    package enum Excess: Error, Hashable, CustomStringConvertible {
        case items(perSecond: Int)
        case bytes(perSecond: Int)
        case configurations(perMinute: Int)

        package var description: String {
            switch self {
            case .items(let rate): "it sends more than \(rate) messages per second"
            case .bytes(let rate): "it sends more than \(rate * 8 / 1_000_000) Mbit/s"
            case .configurations(let rate): "it changes its codec configuration more than \(rate) times a minute"
            }
        }
    }

    private let limits: Limits
    private var items: Bucket
    private var bytes: Bucket
    private var configurations: Bucket
    private var video: CodecConfiguration?
    private var audio: CodecConfiguration?
    /// Number of frames of this connection whose presentation time was out of bounds and was set to the decoding time.
    package private(set) var corrected = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        items = Bucket(limits.items)
        bytes = Bucket(limits.bytes)
        configurations = Bucket(limits.configurations)
    }

    /// Returns the item, with its presentation time corrected if that is out of bounds.
    ///
    /// - Parameter now: Time of arrival, not before that of earlier items.
    /// - Throws: The bound that the connection has exceeded. Nothing more may be accepted from it.
    package mutating func pass(_ item: MediaItem, now: MediaTime) throws(Excess) -> MediaItem {
        guard items.take(1, now: now) else { throw .items(perSecond: Int(limits.items.perSecond)) }
        guard bytes.take(Double(item.footprint), now: now) else {
            throw .bytes(perSecond: Int(limits.bytes.perSecond))
        }
        switch item {
        case .configuration(let configuration):
            guard isNew(configuration), !configurations.take(1, now: now) else { return item }
            throw .configurations(perMinute: Int(limits.configurations.perSecond * 60))
        case .frame(var frame):
            guard (frame.pts - frame.dts).magnitude > limits.compositionOffset else { return item }
            frame.pts = frame.dts
            corrected = corrected.saturatingSum(1)
            return .frame(frame)
        case .discontinuity, .metadata:
            return item
        }
    }

    /// Records that a new connection begins. It gets what is left of the allowance.
    package mutating func reconnected() { corrected = 0 }

    private mutating func isNew(_ configuration: CodecConfiguration) -> Bool {
        switch configuration.track {
        case .video:
            defer { video = configuration }
            return configuration != video
        case .audio:
            defer { audio = configuration }
            return configuration != audio
        }
    }
}

/// A leaky bucket: it fills with accepted amounts, empties at its rate, and refuses amounts that do not fit.
private struct Bucket: Sendable {
    private let rate: SourceGate.Rate
    private var level = 0.0
    private var lastTaken: MediaTime?

    init(_ rate: SourceGate.Rate) { self.rate = rate }

    mutating func take(_ amount: Double, now: MediaTime) -> Bool {
        if let lastTaken { level = max(0, level - max(0, (now - lastTaken).inSeconds) * rate.perSecond) }
        lastTaken = now
        guard level + amount <= rate.burst else { return false }
        level += amount
        return true
    }
}
