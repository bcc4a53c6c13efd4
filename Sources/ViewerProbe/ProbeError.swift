/// The reason that the probe could not judge a stream.
public enum ProbeError: Error, Hashable, Sendable, CustomStringConvertible {
    case badURL(String)
    case connection(String)
    /// The server answered, but not with the stream.
    case refused(String)
    /// The stream violates RTMP or FLV.
    case malformed(String)
    /// A helper program of the probe cannot be run or fails.
    case tool(String)
    /// The file cannot be read or written.
    case file(String)
    /// The other side closed the connection.
    case ended
    /// The caller stopped the probe.
    case cancelled

    public var description: String {
        switch self {
        case .badURL(let url): "not an RTMP or HTTP-FLV address: \(url)"
        case .connection(let reason), .refused(let reason), .malformed(let reason), .tool(let reason),
            .file(let reason):
            reason
        case .ended: "the other side closed the connection"
        case .cancelled: "stopped"
        }
    }
}
