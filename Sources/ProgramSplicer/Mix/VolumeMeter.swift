import EncodedMedia
import MixModel

/// Measures the volume of a mix's sources over some tenths of a second. Pure.
public struct VolumeMeter: Sendable {
    /// Whether powers are counted; if not, no volumes are returned.
    public var isOn = false {
        didSet { if isOn != oldValue { (sums, count) = ([:], 0) } }
    }

    /// Duration of the audio that one value covers.
    public static let window = MediaTime.milliseconds(200)

    private let frames: Int
    private var sums: [SourceID: Float] = [:]
    private var count = 0

    /// - Parameter frame: Duration of the audio that each call covers.
    public init(frame: MediaTime) {
        frames = max(1, Int(saturating: (VolumeMeter.window.inSeconds / frame.inSeconds).rounded()))
    }

    /// - Parameter powers: Mean squares of the samples, −1…1, of the next `frame`.
    /// - Returns: Volumes of 0…255 by source once a window, otherwise `nil`. A full-scale sine has 255 (linear in the
    ///   root of the mean square).
    public mutating func take(_ powers: [SourceID: Float]) -> [SourceID: Int]? {
        guard isOn else { return nil }
        sums.merge(powers, uniquingKeysWith: +)
        count += 1
        guard count >= frames else { return nil }
        let volumes = sums.mapValues { sum in
            let level = (max(sum, 0) / Float(count) * 2).squareRoot() * 255
            return Int(UInt8(saturating: Double(level.rounded())))
        }
        (sums, count) = ([:], 0)
        return volumes
    }
}
