/// The reason why an RTMP connection ended or cannot be made; the description is for operators.
///
/// The server's text may contain parts of the URL: code that shows a description must clean it with `URLRedaction`.
package enum RTMPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A request that a server has to accept.
    package enum Gate: Hashable, Sendable {
        /// The connection to an application.
        case application
        /// Playing or publishing a stream.
        case stream
    }

    /// A fault of the URL.
    case badURL(String)
    /// The first bytes are not RTMP.
    case notRTMP
    /// The bytes violate the protocol or its limits.
    case malformed(String)
    /// A refused request, with its description and the server's answer.
    case refused(Gate, String, answer: String)
    /// The publisher has left the stream being played.
    case unpublished
    /// The server has announced that it closes the connection.
    case closed

    package var description: String {
        switch self {
        case .badURL(let fault): "\(fault): expected rtmp://host[:port]/application/stream"
        case .notRTMP: "connected, but no media arrived: the server does not speak RTMP"
        case .malformed(let fault): "the server violates the RTMP protocol: \(fault)"
        case .refused(_, let wish, let answer): "the server refused to \(wish): \(answer)"
        case .unpublished: "the publisher has left"
        case .closed: "the server closed the connection"
        }
    }
}
