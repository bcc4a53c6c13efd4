import Foundation

/// The reason why a connection ended or could not be made.
package struct ConnectionFault: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// None of the host's addresses may be connected to.
        case notAllowed
        case unresolvable
        /// No process listens at the address.
        case refused
        /// No route leads to the address.
        case unreachable
        case timedOut
        /// The connection was made and then failed.
        case lost
        /// The server ended the stream being played, or never sent any of it.
        case ended
        /// The publisher has left the stream being played.
        case unpublished
        /// A TLS connection to the server is not possible or not permitted.
        case tlsFailed
        /// The server violates the protocol.
        case protocolBroken
        /// The server refuses the application.
        case applicationRefused
        /// The server does not accept, or does not have, the stream.
        case streamRefused
        case badURL
    }

    /// Description of a stream that its server ended.
    package static let endOfStream = "the server ended the stream"

    package var kind: Kind
    /// Description for operators; may contain parts of the URL.
    package var words: String

    package init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    /// - Parameters:
    ///   - error: Value of `errno`.
    ///   - words: Text before the system's description of the error.
    package init(errno error: Int32, _ words: String = "") {
        kind =
            switch error {
            case ECONNREFUSED: .refused
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL: .unreachable
            case ETIMEDOUT: .timedOut
            default: .lost
            }
        self.words = words + String(cString: strerror(error))
    }

    package init(_ error: RTMPError) {
        kind =
            switch error {
            case .badURL: .badURL
            case .notRTMP, .malformed: .protocolBroken
            case .refused(.application, _, _): .applicationRefused
            case .refused(.stream, _, _): .streamRefused
            case .unpublished: .unpublished
            case .closed: .lost
            }
        words = error.description
    }
}
