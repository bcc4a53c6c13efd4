import EncodedMedia
import MixModel

/// Decides from a source's encoded frames whether its quality is poor, with hysteresis. Pure.
///
/// A rate is measured over whole slots of half a second. A poor source must exceed each rate by a tenth, and stay good
/// for a while, before it counts as good. A source from which nothing arrives is stalled, which is not judged here: rates
/// and that while are measured by the timestamps of the frames, so that what a stall held up counts where it belongs, and
/// without the gaps in which frames are missing.
public struct QualityWatch: Sendable {
    /// A quality fault of a source.
    public enum Fault: Hashable, Sendable {
        /// Bit rate of the pictures, and the minimum, in bit/s.
        case bitrate(Int, least: Int)
        /// Pictures per second.
        case frameRate(Int, least: Int)
        case silence(seconds: Int)
        /// The keyframes show the same picture.
        case frozen(seconds: Int)
        case black(seconds: Int)

        /// Returns whether it is the same fault, regardless of its figures.
        public func isSame(as other: Fault) -> Bool {
            switch (self, other) {
            case (.bitrate, .bitrate), (.frameRate, .frameRate), (.silence, .silence): true
            case (.frozen, .frozen), (.black, .black): true
            default: false
            }
        }

        var isOfSound: Bool {
            if case .silence = self { true } else { false }
        }

        /// Description of the fault for operators.
        public var words: String {
            switch self {
            case .bitrate(let rate, let least):
                "its pictures have \(rate / 1000) kbit/s, less than the \(least / 1000) kbit/s of policy.quality.minBitrate"
            case .frameRate(let rate, let least):
                "it has \(rate) pictures per second, fewer than the \(least) of policy.quality.minFrameRate"
            case .silence(let seconds): "its sound is digital silence for \(seconds) s"
            case .frozen(let seconds): "its picture has not changed for \(seconds) s"
            case .black(let seconds): "its picture has been black for \(seconds) s"
            }
        }
    }

    /// A slot of time.
    private struct Slot: Sendable {
        var number: Int64
        var bytes = 0
        var pictures = 0
    }

    /// The media of a track.
    private struct TrackClock: Sendable {
        /// Decoding time of the last frame, and its distance to that of the frame before it.
        var newest: MediaTime?
        var distance = MediaTime.zero
        /// Measured time of the last frame.
        var media: MediaTime
    }

    /// Length of a slot.
    static let slot = MediaTime.milliseconds(500)
    /// Largest AAC frame that counts as silence, in bytes: without spectral data, with a header for each channel.
    static let silentFrame = 16
    /// Distance of two timestamps from which frames are missing between them, unless they are usually further apart.
    static let stall = MediaTime.milliseconds(700)
    /// Largest usual distance that is believed.
    private static let mostDistance = MediaTime.seconds(10)

    public let limits: QualityLimits
    /// The current fault; `nil` while the source is good.
    public private(set) var fault: Fault?
    private var slots: [Slot] = []
    private var clocks: [Track: TrackClock] = [:]
    /// *Measured time*: the media so far, without gaps in which neither track has frames.
    private var measured = MediaTime.zero
    /// Measured time of the first picture.
    private var firstPicture: MediaTime?
    private var lastSound: MediaTime?
    /// Beginning of the silence.
    private var silentSince: MediaTime?
    /// Measured time since which the source has been good; `nil` while it is not.
    private var goodSince: MediaTime?
    /// Judges pictures that have been decoded; `nil` if the limits do not ask for that.
    private var pictures: PictureWatch?

    public init(_ limits: QualityLimits) {
        self.limits = limits
        pictures = PictureWatch(limits)
    }

    private var window: Int64 { Int64(limits.windowSeconds) * 2 }

    /// Records a frame that has arrived.
    ///
    /// - Parameter now: Program time, by which silence is judged.
    public mutating func took(_ frame: EncodedFrame, at now: MediaTime) {
        advance(to: frame)
        guard frame.track == .video else {
            let isSilent = frame.payload.count <= Self.silentFrame
            silentSince = isSilent ? silentSince ?? now : nil
            lastSound = now
            return
        }
        firstPicture = firstPicture ?? measured
        pictures?.took(frame, at: measured)
        let number = measured.nanoseconds / Self.slot.nanoseconds
        if slots.last?.number != number {
            slots.append(Slot(number: number))
            let oldest = number - window
            slots.removeAll { $0.number < oldest }
        }
        slots[slots.count - 1].bytes = slots[slots.count - 1].bytes.saturatingSum(frame.payload.count)
        slots[slots.count - 1].pictures = slots[slots.count - 1].pictures.saturatingSum(1)
    }

    /// Counts the media up to a frame. Tracks are counted separately, because their timestamps may be far apart.
    private mutating func advance(to frame: EncodedFrame) {
        var clock = clocks[frame.track] ?? TrackClock(media: measured)
        let step = frame.dts - (clock.newest ?? frame.dts)
        // Frames are missing, or the source begins anew. The other track tells how much time has passed.
        let isGap = step < .zero || step > max(Self.stall, clock.distance * 3 / 2)
        clock.media = isGap ? measured : clock.media + step
        if step > .zero { clock.distance = min(step, Self.mostDistance) }
        clock.newest = frame.dts
        clocks[frame.track] = clock
        measured = max(measured, clock.media)
    }

    /// Judges the source as it was when its last frame arrived.
    ///
    /// - Parameter expectsPictures: Whether the camera is on. If not, only the sound is judged.
    /// - Returns: Whether `fault` has begun, ended or changed.
    public mutating func judge(expectsPictures: Bool = true) -> Bool {
        let (before, now) = (fault, measured)
        if !expectsPictures {
            (slots, firstPicture) = ([], nil)
            pictures?.forget()
            if !(fault?.isOfSound ?? true) { fault = nil }
        }
        if let found = found(at: now) {
            fault = found
            goodSince = nil
        } else if fault != nil, !expectsPictures || isMeasured(at: now) {
            let since = goodSince ?? now
            goodSince = since
            if now - since >= .seconds(Double(limits.recoverySeconds)) { fault = nil }
        }
        guard let before, let fault else { return (before == nil) != (fault == nil) }
        return !fault.isSame(as: before)
    }

    /// Returns whether the source has been present for long enough to be judged.
    ///
    /// - Parameter now: A measured time, as in `found(at:)`.
    private func isMeasured(at now: MediaTime) -> Bool {
        guard limits.minBitrate != nil || limits.minFrameRate != nil else {
            return lastSound != nil || pictures?.isExamined ?? false
        }
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
        return pictures?.fault(at: now)
    }
}

/// Pictures that are decoded by another process.
extension QualityWatch {
    /// Program time at which a keyframe was last taken, if another one waits to be examined now; `.zero` if none was taken
    /// yet, and `nil` if none waits.
    public func waitingSince(at now: MediaTime) -> MediaTime? {
        guard let pictures, pictures.isDue(at: now) else { return nil }
        return pictures.takenAt ?? .zero
    }

    /// Removes and returns the keyframe that waits, and its time, with which its sample is recorded.
    ///
    /// - Parameter now: Program time.
    public mutating func takeKeyframe(at now: MediaTime) -> (frame: EncodedFrame, time: MediaTime)? {
        pictures?.takeKeyframe(at: now).map { (frame: $0.frame, time: $0.time) }
    }

    /// Records the brightness of a keyframe. A time that this watch has not reached is that of another stream, and is
    /// ignored.
    public mutating func saw(_ sample: PictureSample, at time: MediaTime) {
        guard time <= measured else { return }
        pictures?.saw(sample, at: time)
    }

    /// Whether decoded pictures have been seen to be good, as far as the limits ask for them.
    public var isProven: Bool { pictures?.isProven(at: measured) ?? true }
}
