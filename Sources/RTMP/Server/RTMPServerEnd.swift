import MediaFormats

/// The reason why a server ended a client's connection, for operators; contains no client input except the name of a
/// codec.
package enum RTMPServerEnd: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first bytes are not RTMP, or are RTMPE.
    case notRTMP
    /// The bytes break the protocol or its limits.
    case malformed(String)
    /// A step was not completed in time.
    case tooSlow(String)
    /// A publisher sent neither audio nor video.
    case silent(seconds: Int)
    /// The stream has a track of an unsupported codec.
    case unsupported(FLVReader.Failure)

    /// Whether the server refuses what the client sends, so that coming back would not help.
    package var isRefusal: Bool {
        if case .unsupported = self { true } else { false }
    }

    init(_ error: RTMPError) {
        if case .malformed(let fault) = error { self = .malformed(fault) } else { self = .notRTMP }
    }

    package var description: String {
        switch self {
        case .notRTMP: "the client does not speak RTMP"
        case .malformed(let fault): "the client violates the RTMP protocol: \(fault)"
        case .tooSlow(let step): "timed out: the client did not complete \(step) in time"
        case .silent(let seconds): "no audio or video for \(seconds) s"
        case .unsupported(let failure): failure.description
        }
    }
}
