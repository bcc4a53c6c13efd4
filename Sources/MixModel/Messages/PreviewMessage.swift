import EncodedMedia
import Foundation

/// A request to the process that turns encoded media into small pictures and audio levels. One request at a time per
/// socket.
///
/// On the wire: the length of the rest in four bytes, the longest side in two, and an FLV stream. Numbers are
/// big-endian. The highest bit of the side asks for a sample.
public struct PreviewRequest: Hashable, Sendable {
    /// Longest side of the picture in pixels, 1…1280; 0 requests no picture.
    public var side: Int
    /// Whether the picture's brightness is requested.
    public var asksForSample: Bool
    /// One keyframe and some audio frames with their configurations, as an FLV stream.
    public var flv: [UInt8]

    /// Maximum size of an FLV stream, in bytes.
    public static let longest = 8 << 20
    public static let sides = 0...1280
    private static let sampleBit = 0x8000

    public init(side: Int, asksForSample: Bool = false, flv: [UInt8]) {
        self.side = side
        self.asksForSample = asksForSample
        self.flv = flv
    }

    public var wireBytes: [UInt8] {
        let side = min(max(side, Self.sides.lowerBound), Self.sides.upperBound)
        let word = asksForSample ? side | Self.sampleBit : side
        return PreviewWire.bytes(of: flv.count + 2) + [UInt8(word >> 8), UInt8(word & 0xFF)] + flv
    }

    /// Parses the bytes after the length; `nil` if they are not a request.
    public init?(body: [UInt8]) {
        guard body.count - 2 <= Self.longest, let word = body.bigEndian(Int.self, at: 0, bytes: 2) else { return nil }
        asksForSample = word & Self.sampleBit != 0
        side = word & ~Self.sampleBit
        guard Self.sides.contains(side) else { return nil }
        flv = Array(body.dropFirst(2))
    }
}

/// The answer to a `PreviewRequest`.
///
/// On the wire: the length of the rest in four bytes, that of a JSON object in four, the object, and the picture.
public struct PreviewAnswer: Hashable, Sendable {
    /// The picture as JPEG; empty if there is none.
    public var jpeg: [UInt8]
    /// Loudness of the audio; `nil` if there is none.
    public var level: SoundLevel?
    /// The picture's brightness; `nil` if it was not requested, or if there is no picture.
    public var sample: PictureSample?
    /// The reason why there is no picture although one was requested, in words.
    public var failure: String?

    /// Maximum size of an answer, in bytes.
    public static let longest = 2 << 20
    private static let longestFailure = 500

    public init(
        jpeg: [UInt8] = [], level: SoundLevel? = nil, sample: PictureSample? = nil, failure: String? = nil
    ) {
        self.jpeg = jpeg
        self.level = level
        self.sample = sample
        self.failure = failure
    }

    private struct Head: Codable {
        var level: SoundLevel?
        var sample: PictureSample?
        var failure: String?
    }

    public var wireBytes: [UInt8] {
        let failure = failure.map { String($0.prefix(Self.longestFailure)) }
        let object = Head(level: level, sample: sample, failure: failure)
        let head = (try? JSONEncoder().encode(object)).map { Array($0) } ?? []
        return PreviewWire.bytes(of: 4 + head.count + jpeg.count) + PreviewWire.bytes(of: head.count) + head + jpeg
    }

    /// Parses the bytes after the length; `nil` if they are not an answer.
    public init?(body: [UInt8]) {
        guard body.count <= Self.longest, let length = PreviewWire.length(body), length <= body.count - 4 else {
            return nil
        }
        guard let head = try? JSONDecoder().decode(Head.self, from: Data(body[4..<4 + length])) else { return nil }
        jpeg = Array(body.dropFirst(4 + length))
        level = head.level?.bounded
        sample = head.sample
        failure = head.failure.map { String($0.prefix(Self.longestFailure)) }
    }
}

/// The loudness of a short piece of audio, in dB below full scale, -100…0; silence has -100.
public struct SoundLevel: Hashable, Codable, Sendable {
    /// Level of the loudest sample.
    public var peak: Double
    /// Root mean square level.
    public var rms: Double

    public static let silence = -100.0

    public init(peak: Double, rms: Double) {
        self.peak = peak
        self.rms = rms
    }

    /// Measures samples of -1…1.
    public init(of samples: some Sequence<Float>) {
        var (peak, sum, count): (Float, Double, Int) = (0, 0, 0)
        for sample in samples where sample.isFinite {
            peak = max(peak, abs(sample))
            sum += Double(sample) * Double(sample)
            count += 1
        }
        self.init(peak: Self.decibels(Double(peak)), rms: Self.decibels((sum / Double(max(count, 1))).squareRoot()))
    }

    /// The level limited to its range, in tenths of a dB.
    public var bounded: SoundLevel { SoundLevel(peak: Self.bounded(peak), rms: Self.bounded(rms)) }

    private static func decibels(_ amplitude: Double) -> Double {
        amplitude > 0 ? bounded(20 * log10(amplitude)) : silence
    }

    private static func bounded(_ level: Double) -> Double {
        level.isFinite ? (min(max(level, silence), 0) * 10).rounded() / 10 : silence
    }
}

/// The length prefixes of preview messages.
public enum PreviewWire {
    public static func bytes(of length: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
    }

    /// Returns the length in the first four bytes; `nil` if there are fewer.
    public static func length(_ bytes: some Collection<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }
}
