/// The colour description of an SPS (ITU-T H.264 §E.2.1, tables E-3 to E-5; H.265 uses the same numbers). `nil` means
/// not signalled (2, "unspecified").
public struct ColourSignal: Hashable, Codable, Sendable {
    public var primaries: Int?
    public var transfer: Int?
    public var matrix: Int?
    public var isFullRange: Bool

    public init(primaries: Int? = nil, transfer: Int? = nil, matrix: Int? = nil, isFullRange: Bool = false) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    public static let unsignalled = ColourSignal()
}
