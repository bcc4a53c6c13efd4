/// The state of a program's HLS.
public struct HLSStatus: Hashable, Codable, Sendable {
    public var service: ServiceState
    /// Directory name of the current session; part of URLs.
    public var session: String?
    /// Start of the session, in seconds since 1970.
    public var startedAt: Double?
    /// Variants, the program itself first; empty until the first segment is available.
    public var variants: [HLSVariantStatus]

    public init(
        service: ServiceState = ServiceState(), session: String? = nil, startedAt: Double? = nil,
        variants: [HLSVariantStatus] = []
    ) {
        self.service = service
        self.session = session
        self.startedAt = startedAt
        self.variants = variants
    }
}

/// The state of one variant of the program.
public struct HLSVariantStatus: Hashable, Codable, Sendable {
    /// Name: `video` for the program itself, `360p` for a lower rendition.
    public var name: String
    public var metadata: String?
    /// Width in pixels; 0 without pictures.
    public var width: Int
    /// Height in pixels; 0 without pictures.
    public var height: Int
    /// Peak bit rate as stated in the playlist, in bit/s.
    public var bandwidth: Int
    /// The reason why segments are missing, in words for operators.
    public var error: String?

    public init(
        name: String, metadata: String? = nil, width: Int = 0, height: Int = 0, bandwidth: Int = 0,
        error: String? = nil
    ) {
        self.name = name
        self.metadata = metadata
        self.width = width
        self.height = height
        self.bandwidth = bandwidth
        self.error = error
    }
}
