import EncodedMedia
import MixModel

/// Decides from a source's encoded frames whether its quality is poor, with hysteresis. Pure.
///
/// A rate is measured over whole slots of half a second. A poor source must exceed each rate by a tenth, and stay good
/// for a while, before it counts as good. A source from which nothing arrives is stalled, which is not judged here.
public struct QualityWatch: Sendable {
    /// A quality fault of a source.
    public enum Fault: Hashable, Sendable {
        /// Bit rate of the pictures, and the minimum, in bit/s.
        case bitrate(Int, least: Int)
        /// Pictures per second.
        case frameRate(Int, least: Int)
        case silence(seconds: Int)

        /// Returns whether it is the same fault, regardless of its figures.
        public func isSame(as other: Fault) -> Bool {
            switch (self, other) {
            case (.bitrate, .bitrate), (.frameRate, .frameRate), (.silence, .silence): true
            default: false
            }
        }

        /// Description of the fault for operators.
        public var words: String {
            switch self {
            case .bitrate(let rate, let least):
                "its pictures have \(rate / 1000) kbit/s, less than the \(least / 1000) kbit/s of policy.quality.minBitrate"
            case .frameRate(let rate, let least):
                "it has \(rate) pictures per second, fewer than the \(least) of policy.quality.minFrameRate"
            case .silence(let seconds): "its sound is digital silence for \(seconds) s"
            }
        }
    }

    /// A slot of time.
    private struct Slot: Sendable {
        var number: Int64
        var bytes = 0
        var pictures = 0
    }

    /// Length of a slot.
    static let slot = MediaTime.milliseconds(500)
    /// Largest AAC frame that counts as silence, in bytes: without spectral data, with a header for each channel.
    static let silentFrame = 16

    public let limits: QualityLimits
    /// The current fault; `nil` while the source is good.
    public private(set) var fault: Fault?
    private var slots: [Slot] = []
    private var firstPicture: MediaTime?
    private var lastSound: MediaTime?
    /// Beginning of the silence.
    private var silentSince: MediaTime?
    private var goodSince: MediaTime?

    public init(_ limits: QualityLimits) { self.limits = limits }

    private var window: Int64 { Int64(limits.windowSeconds) * 2 }

    /// Records a frame that has arrived.
    public mutating func took(_ frame: EncodedFrame, at now: MediaTime) {
        guard frame.track == .video else {
            let isSilent = frame.payload.count <= Self.silentFrame
            silentSince = isSilent ? silentSince ?? now : nil
            lastSound = now
            return
        }
        firstPicture = firstPicture ?? now
        let number = now.nanoseconds / Self.slot.nanoseconds
        if slots.last?.number != number {
            slots.append(Slot(number: number))
            let oldest = number - window
            slots.removeAll { $0.number < oldest }
        }
        slots[slots.count - 1].bytes = slots[slots.count - 1].bytes.saturatingSum(frame.payload.count)
        slots[slots.count - 1].pictures = slots[slots.count - 1].pictures.saturatingSum(1)
    }

    /// Discards the measurements, because another connection begins. A fault remains until the new connection proves
    /// good.
    public mutating func restart() {
        slots = []
        (firstPicture, lastSound, silentSince, goodSince) = (nil, nil, nil, nil)
    }

    /// Judges the source.
    /// - Returns: Whether `fault` has begun, ended or changed.
    public mutating func judge(at now: MediaTime) -> Bool {
        let before = fault
        if let found = found(at: now) {
            fault = found
            goodSince = nil
        } else if fault != nil, isMeasured(at: now) {
            let since = goodSince ?? now
            goodSince = since
            if now - since >= .seconds(Double(limits.recoverySeconds)) { fault = nil }
        }
        guard let before, let fault else { return (before == nil) != (fault == nil) }
        return !fault.isSame(as: before)
    }

    /// Returns whether the source has been present for long enough to be judged.
    private func isMeasured(at now: MediaTime) -> Bool {
        guard limits.minBitrate != nil || limits.minFrameRate != nil else { return lastSound != nil }
        return firstPicture.map { now - $0 >= Self.slot * (window + 1) } ?? false
    }

    private func found(at now: MediaTime) -> Fault? {
        if isMeasured(at: now), firstPicture != nil {
            let current = now.nanoseconds / Self.slot.nanoseconds
            let whole = slots.filter { $0.number >= current - window && $0.number < current }
            let (bytes, pictures) = whole.reduce((0, 0)) {
                ($0.0.saturatingSum($1.bytes), $0.1.saturatingSum($1.pictures))
            }
            // A poor source must be better than a good one to count as good again.
            func least(_ limit: Int) -> Int { fault == nil ? limit : limit.saturatingSum(limit / 10) }
            let bitrate = Int(saturating: Double(bytes) * 8 / Double(limits.windowSeconds))
            if let limit = limits.minBitrate, bitrate < least(limit) { return .bitrate(bitrate, least: limit) }
            let rate = pictures / limits.windowSeconds
            if let limit = limits.minFrameRate, rate < least(limit) { return .frameRate(rate, least: limit) }
        }
        if let limit = limits.silenceSeconds, let silentSince, let lastSound,
            lastSound - silentSince >= .seconds(Double(limit))
        {
            return .silence(seconds: limit)
        }
        return nil
    }
}
