/// The brightness of a picture, in 32 × 32 equal parts.
public struct PictureSample: Hashable, Sendable {
    /// Number of parts of a row, and of rows.
    public static let side = 32
    /// Largest value of a part that is black. A tenth of the range, so that noise of a camera is black, too.
    static let darkest: UInt8 = 25
    /// Largest difference between two encodings of the same picture, in any part.
    static let noise = 2

    /// Mean brightness of each part, row by row, 0 (black) to 255.
    public let parts: [UInt8]

    /// - Returns: `nil` unless there is one value for each part.
    public init?(parts: [UInt8]) {
        guard parts.count == Self.side * Self.side else { return nil }
        self.parts = parts
    }

    /// Whether 98 % of the picture is black.
    public var isBlack: Bool { parts.count { $0 <= Self.darkest } * 50 >= parts.count * 49 }

    /// Returns whether both show the same picture, apart from the noise of an encoder.
    public func isSamePicture(as other: PictureSample) -> Bool {
        zip(parts, other.parts).allSatisfy { abs(Int($0) - Int($1)) <= Self.noise }
    }
}

extension PictureSample: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let sample = PictureSample(parts: try container.decode([UInt8].self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the parts of a picture")
        }
        self = sample
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(parts)
    }
}
