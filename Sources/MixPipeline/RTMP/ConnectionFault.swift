import Foundation

/// Why a connection is over, or was never there.
struct ConnectionFault: Error, Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// Its address is none of those that may be connected to.
        case notAllowed
        case unresolvable
        /// Nobody listens there.
        case refused
        /// There is no way there.
        case unreachable
        case timedOut
        /// It was there and ended.
        case lost
        /// Somebody answers who cannot, or may not, be spoken to over TLS.
        case tlsFailed
        /// What answers does not keep to the protocol.
        case protocolBroken
        /// The server lets nobody into the application.
        case applicationRefused
        /// The server does not take, or does not have, the stream.
        case streamRefused
        case badURL
    }

    var kind: Kind
    /// For operators; may hold parts of the URL.
    var words: String

    init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    /// - Parameters:
    ///   - error: `errno`.
    ///   - words: What precedes the system's words.
    init(errno error: Int32, _ words: String = "") {
        kind =
            switch error {
            case ECONNREFUSED: .refused
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL: .unreachable
            case ETIMEDOUT: .timedOut
            default: .lost
            }
        self.words = words + String(cString: strerror(error))
    }

    init(_ error: RTMPError) {
        kind =
            switch error {
            case .badURL: .badURL
            case .notRTMP, .malformed: .protocolBroken
            case .refused(.application, _, _): .applicationRefused
            case .refused(.stream, _, _), .unpublished: .streamRefused
            case .closed: .lost
            }
        words = error.description
    }
}
