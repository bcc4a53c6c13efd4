/// How a room's program is offered as HLS.
public struct HLSSettings: Hashable, Codable, Sendable {
    /// How long segments shall be, 1…10. They begin with keyframes, so the publisher has a say in it.
    public var segmentSeconds: Int
    /// How much players can go back while it is live, 6…3600; at least three segments.
    public var windowSeconds: Int
    /// All segments are kept, and offered on demand and as one file.
    public var enableVOD: Bool
    /// Free text of the caller, shown with the variant.
    public var metadata: String?
    /// Lower ones beside the program itself; each costs a transcoder.
    public var renditions: [HLSRendition]

    public static let defaultSegmentSeconds = 4
    public static let defaultWindowSeconds = 30
    public static let mostRenditions = 3
    /// Bytes.
    public static let longestMetadata = 4096

    public init(
        segmentSeconds: Int = HLSSettings.defaultSegmentSeconds,
        windowSeconds: Int = HLSSettings.defaultWindowSeconds, enableVOD: Bool = false, metadata: String? = nil,
        renditions: [HLSRendition] = []
    ) {
        self.segmentSeconds = segmentSeconds
        self.windowSeconds = windowSeconds
        self.enableVOD = enableVOD
        self.metadata = metadata
        self.renditions = renditions
    }
}

/// A smaller picture of a program, with the same sound.
public struct HLSRendition: Hashable, Codable, Sendable {
    /// In pixels, even, 90…1080; a program with a smaller picture keeps its size.
    public var height: Int
    /// Bits a second, 50 000…10 000 000.
    public var videoBitrate: Int
    /// Free text of the caller, shown with the variant.
    public var metadata: String?

    public init(height: Int, videoBitrate: Int, metadata: String? = nil) {
        self.height = height
        self.videoBitrate = videoBitrate
        self.metadata = metadata
    }

    /// In file names and URLs.
    public var name: String { "\(height)p" }
}
