import EncodedMedia

/// A source's decoded audio, placed sample by sample on a mix's timeline.
///
/// Sample index 0 is the mix's audio origin. The first block is placed by its timestamp; those that follow continue it
/// to the sample as long as their timestamps agree with that within `tolerance`, so that timestamps rounded to
/// milliseconds never cause clicks. After a larger disagreement (a pause, a re-mapped source) the block is placed by
/// its timestamp again, with silence in the gap.
///
/// Slow drift of the timestamps against the count of samples (the sender's clock) is followed by adding a sample to a
/// block or removing one, except for the host, whose drift the mix's own grid follows (`disagreement`).
///
/// Audio is faded over `edge` where it begins, breaks off or is placed again: a step in the waveform would be heard as
/// a click. Where it is placed again over audio that is held already, the two are cross-faded: what precedes the held audio
/// may have been heard. Audio that is present from the mix's first sample continues the previous feed and is not faded in.
public struct PCMTimeline: Sendable {
    /// Largest disagreement that counts as noise.
    public static let tolerance = MediaTime.milliseconds(20)

    public let sampleRate: Int
    /// Number of channels, whose samples are interleaved.
    public let channels: Int
    /// Whether the mix's grid follows this source, so that its samples are never stretched.
    public let isHost: Bool
    /// Number of sample frames of a fade.
    public let edge: Int

    /// Index of the first held sample frame.
    public private(set) var start: Int64 = 0
    /// Index after the last sample frame; `nil` before the first block.
    public private(set) var end: Int64?
    /// Slow average of timestamp minus count of samples, in samples.
    public private(set) var disagreement = 0.0

    private var samples: [Float] = []
    private var isCorrecting = false
    /// Whether the sample before `start` was held, or precedes the mix's first sample.
    private var isUnbroken: Bool

    /// - Parameters:
    ///   - start: Index of the first sample that can still be used; 0 if the mix has not begun.
    ///   - edge: Length of the fade where audio begins or breaks off.
    public init(
        sampleRate: Int, channels: Int, isHost: Bool = false, start: Int64 = 0, edge: MediaTime = .zero
    ) {
        self.sampleRate = sampleRate
        self.channels = max(channels, 1)
        self.isHost = isHost
        self.start = start
        self.edge = Int(max(0, edge.inSeconds) * Double(sampleRate))
        isUnbroken = start == 0
    }

    /// Longest held audio, in seconds; blocks that end further ahead of the mix are dropped.
    public static let capacitySeconds = 8

    /// Adds a decoded block. Samples before `start` are too late and are dropped.
    ///
    /// - Parameters:
    ///   - time: Time of the block's first sample, relative to the mix's audio origin.
    ///   - block: Interleaved samples, −1…1.
    public mutating func append(at time: MediaTime, _ block: [Float]) {
        var block = block
        var count = block.count / channels
        guard count > 0 else { return }
        let exact = Double(time.nanoseconds) * Double(sampleRate) / 1e9
        var index = Int64(saturating: exact.rounded())
        if let end {
            let difference = exact - Double(end)
            if abs(difference) <= Self.tolerance.inSeconds * Double(sampleRate) {
                index = end
                disagreement += (difference - disagreement) / 32
                if let corrected = stretched(block, count: count) {
                    block = corrected
                    count = corrected.count / channels
                }
            } else {
                disagreement = 0
                isCorrecting = false
            }
        }
        place(block, count: count, at: index)
    }

    /// Adds the samples of `range` to `sum` (interleaved, `range.count · channels` long), with a gain that changes from
    /// `gain` at the first sample to `target` after the last. Samples that are not held are silence.
    ///
    /// - Returns: False if no sample of the range is held.
    @discardableResult
    public func mix(_ range: Range<Int64>, into sum: inout [Float], gain: Float = 1, to target: Float = 1) -> Bool {
        guard let end else { return false }
        let low = max(range.lowerBound, start)
        let high = min(range.upperBound, end)
        guard low < high else { return false }
        var from = Int(low - start) * channels
        let to = Int(low - range.lowerBound) * channels
        let count = Int(high - low) * channels
        var samples = samples
        if edge > 0, !isUnbroken || high < range.upperBound {
            samples = Array(samples[from..<from + count])
            from = 0
            if !isUnbroken { fadeIn(&samples, from: 0) }
            if high < range.upperBound { fadeOut(&samples) }
        }
        if gain == 1, target == 1 {
            for offset in 0..<count { sum[to + offset] += samples[from + offset] }
        } else {
            let slope = (target - gain) / Float(range.count)
            for offset in 0..<count {
                sum[to + offset] += samples[from + offset] * (gain + slope * Float((to + offset) / channels))
            }
        }
        return true
    }

    /// Returns the mean square of the samples of `range`, all channels together; samples that are not held count as
    /// silence.
    public func power(_ range: Range<Int64>) -> Float {
        guard let end, !range.isEmpty else { return 0 }
        let low = max(range.lowerBound, start)
        let high = min(range.upperBound, end)
        guard low < high else { return 0 }
        let held = Int(low - start) * channels..<Int(high - start) * channels
        var sum: Float = 0
        for index in held { sum += samples[index] * samples[index] }
        return sum / Float(range.count * channels)
    }

    /// Records that the mix has passed `index`: samples before it are neither held nor accepted any more.
    public mutating func discard(before index: Int64) {
        guard index > start else { return }
        isUnbroken = end.map { $0 >= index } ?? false
        samples.removeFirst(min(samples.count, Int(index - start) * channels))
        start = index
    }

    /// Records that the mix's grid was moved to follow this source, the host, whose timestamps now agree better with
    /// its samples by `amount`.
    public mutating func noteGridMoved(by amount: MediaTime) { disagreement -= amount.inSeconds * Double(sampleRate) }

    /// Forgets the position of the samples, so that the next block is placed by its timestamp.
    public mutating func restart() {
        end = nil
        samples.removeAll(keepingCapacity: true)
        isUnbroken = false
        disagreement = 0
    }

    private mutating func place(_ block: [Float], count: Int, at index: Int64) {
        let limit = start + Int64(Self.capacitySeconds * sampleRate)
        let blockEnd = index.saturatingSum(Int64(count))
        guard blockEnd <= limit else { return }
        let isJoined = index == end || (end == nil && index <= start)
        defer { end = blockEnd }
        guard blockEnd > start else { return }
        let skipped = max(0, Int(start - index))
        let position = (Int(max(index, start) - start)) * channels
        var replaced: [Float] = []
        if position < samples.count {
            if !isJoined { replaced = Array(samples[position...].prefix(min(edge, count - skipped) * channels)) }
            samples.removeLast(samples.count - position)
        }
        if !isJoined, replaced.isEmpty { fadeOut(&samples) }
        if position > samples.count {
            samples.append(contentsOf: repeatElement(0, count: position - samples.count))
        }
        samples.append(contentsOf: block[(skipped * channels)...])
        if !isJoined { fadeIn(&samples, from: position) }
        guard !replaced.isEmpty else { return }
        fadeOut(&replaced)
        for (offset, sample) in replaced.enumerated() { samples[position + offset] += sample }
    }

    /// Fades in the samples from a position of `samples`.
    private func fadeIn(_ samples: inout [Float], from position: Int) {
        let length = min(edge, (samples.count - position) / channels)
        for frame in 0..<length {
            let gain = Self.gain(frame, of: length)
            for channel in 0..<channels { samples[position + frame * channels + channel] *= gain }
        }
    }

    /// Fades out the end of `samples`.
    private func fadeOut(_ samples: inout [Float]) {
        let length = min(edge, samples.count / channels)
        let last = samples.count - channels
        for frame in 0..<length {
            let gain = Self.gain(frame, of: length)
            for channel in 0..<channels { samples[last - frame * channels + channel] *= gain }
        }
    }

    /// Returns the gain of a frame in a fade-in. It has no corners, which loud high tones would make audible; with the
    /// gain of the frame at the same distance from the end, it adds up to 1.
    private static func gain(_ frame: Int, of length: Int) -> Float {
        let position = (Float(frame) + 0.5) / Float(length)
        return position * position * (3 - 2 * position)
    }

    /// Returns the block with one sample more or less if the source has drifted from its timestamps, otherwise `nil`.
    private mutating func stretched(_ block: [Float], count: Int) -> [Float]? {
        guard !isHost else { return nil }
        let millisecond = Double(sampleRate) / 1000
        if abs(disagreement) > 3 * millisecond { isCorrecting = true }
        if abs(disagreement) < millisecond / 2 { isCorrecting = false }
        guard isCorrecting, count >= 64 else { return nil }
        let target = count + (disagreement > 0 ? 1 : -1)
        disagreement += disagreement > 0 ? -1 : 1
        var result = [Float](repeating: 0, count: target * channels)
        let step = Double(count - 1) / Double(target - 1)
        for frame in 0..<target {
            let position = Double(frame) * step
            let left = min(Int(position), count - 2)
            let weight = Float(position - Double(left))
            for channel in 0..<channels {
                let a = block[left * channels + channel]
                let b = block[(left + 1) * channels + channel]
                result[frame * channels + channel] = a + (b - a) * weight
            }
        }
        return result
    }
}

/// Keeps the sum of several sources within −1…1.
public enum Loudness {
    /// Bends samples above `knee` towards full scale. Samples up to `knee` stay unchanged, so that a single source
    /// passes bit for bit.
    public static func softClip(_ samples: inout [Float]) {
        for index in samples.indices where abs(samples[index]) > knee {
            let over = (abs(samples[index]) - knee) / (1 - knee)
            let bent = knee + (1 - knee) * (over / (1 + over))
            samples[index] = samples[index] < 0 ? -bent : bent
        }
    }

    private static let knee: Float = 0.9
}
