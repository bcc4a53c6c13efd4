/// The settings for offering a room's program as HLS.
public struct HLSSettings: Hashable, Codable, Sendable {
    /// Intended length of segments, 1…10 seconds. Segments begin with keyframes, so the publisher affects it too.
    public var segmentSeconds: Int
    /// Time by which players can go back while the program is live. 6…3600 seconds; at least three segments.
    public var windowSeconds: Int
    /// Whether all segments are kept, and offered on demand and as one file.
    public var enableVOD: Bool
    /// Free text of the caller, shown with the variant.
    public var metadata: String?
    /// Lower renditions in addition to the program itself. Each requires a transcoder.
    public var renditions: [HLSRendition]

    public static let defaultSegmentSeconds = 4
    public static let defaultWindowSeconds = 30
    public static let mostRenditions = 3
    /// Maximum length of metadata, in bytes.
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

/// A smaller picture of a program, with the same audio.
public struct HLSRendition: Hashable, Codable, Sendable {
    /// Height in pixels, even, 90…1080. A program with a smaller picture keeps its size.
    public var height: Int
    /// Video bit rate, 50 000…10 000 000 bit/s.
    public var videoBitrate: Int
    /// Free text of the caller, shown with the variant.
    public var metadata: String?

    public init(height: Int, videoBitrate: Int, metadata: String? = nil) {
        self.height = height
        self.videoBitrate = videoBitrate
        self.metadata = metadata
    }

    /// Name in file names and URLs.
    public var name: String { "\(height)p" }
}
