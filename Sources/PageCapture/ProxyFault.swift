/// The reason for which a page's proxy answers a request itself.
///
/// A header of the answer carries it to the browser's control, which would otherwise blame the page's server for the
/// answer's status. A server can send the same header: it determines only the words with which its failure is shown.
enum ProxyFault: String, Hashable, Sendable {
    /// The rules do not permit the destination.
    case refused
    /// The destination has no address, or no address that can be connected to.
    case unreachable

    /// The header, in lower case so that it is the same in answers of every version of HTTP.
    enum Header: String, CodingKey {
        case name = "x-mixorchestrator-proxy"
    }

    /// The text that completes "the page cannot be loaded: …".
    var words: String {
        switch self {
        case .refused: "its address is refused (sources.allow)"
        case .unreachable: "its server cannot be reached"
        }
    }

    /// The whole answer, after which the connection is closed.
    var answer: [UInt8] {
        let status =
            switch self {
            case .refused: "403 Forbidden"
            case .unreachable: "502 Bad Gateway"
            }
        // In place of an empty document, a browser shows a page of its own.
        let body = "<!-- \(rawValue) -->"
        let head =
            "HTTP/1.1 \(status)\r\n\(Header.name.rawValue): \(rawValue)\r\nContent-Type: text/html\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        return Array((head + body).utf8)
    }
}
