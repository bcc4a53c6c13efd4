/// Why an RTMP connection is over or cannot be made; the description is for operators.
///
/// What servers say may hold parts of the URL: whoever shows a description cleans it with `URLRedaction`.
enum RTMPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a server has to say yes to.
    enum Gate: Hashable, Sendable {
        /// The connection to an application.
        case application
        /// Playing or publishing a stream.
        case stream
    }

    /// What is wrong with the URL.
    case badURL(String)
    /// The first bytes make no sense as RTMP.
    case notRTMP
    /// Bytes that break the protocol or its limits.
    case malformed(String)
    /// What was asked for, and the server's words.
    case refused(Gate, String, answer: String)
    /// The publisher has left the stream that is played.
    case unpublished
    /// The server said that it closes.
    case closed

    var description: String {
        switch self {
        case .badURL(let fault): "\(fault): expected rtmp://host[:port]/application/stream"
        case .notRTMP: "connected, but no media came: the server does not speak RTMP"
        case .malformed(let fault): "the server breaks the RTMP protocol: \(fault)"
        case .refused(_, let wish, let answer): "the server refused to \(wish): \(answer)"
        case .unpublished: "the publisher has left"
        case .closed: "the server closed the connection"
        }
    }
}
