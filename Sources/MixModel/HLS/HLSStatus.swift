/// How HLS of a program gets on.
public struct HLSStatus: Hashable, Codable, Sendable {
    public var service: ServiceState
    /// Name of the directory of what is made now; part of URLs.
    public var session: String?
    /// Seconds since 1970.
    public var startedAt: Double?
    /// The program itself first; empty until the first segment is there.
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

/// One rendering of the program.
public struct HLSVariantStatus: Hashable, Codable, Sendable {
    /// `video` is the program itself, `360p` a lower one.
    public var name: String
    public var metadata: String?
    /// 0 without pictures.
    public var width: Int
    public var height: Int
    /// Bits a second at most, as the playlist says it.
    public var bandwidth: Int
    /// Why segments of it are missing, in words for operators.
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
