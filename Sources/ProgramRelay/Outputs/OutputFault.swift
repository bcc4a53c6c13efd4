import MixModel
import RTMP

/// A failure of a connection to a destination.
struct OutputFault: Error, Hashable, Sendable {
    var code: OutputErrorCode
    /// The server's or the system's description, for operators.
    var words: String

    init(_ code: OutputErrorCode, _ words: String) {
        self.code = code
        self.words = words
    }

    init(_ fault: ConnectionFault) {
        code =
            switch fault.kind {
            case .notAllowed: .notAllowed
            case .unresolvable: .unresolvable
            case .refused: .connectionRefused
            case .unreachable: .unreachable
            case .timedOut: .timeout
            case .lost, .ended: .connectionLost
            case .tlsFailed: .tlsFailed
            case .protocolBroken: .protocolError
            case .applicationRefused: .applicationRefused
            case .streamRefused, .unpublished: .publishRefused
            case .badURL: .badURL
            }
        words = fault.words
    }

    /// The kind of a failure, which decides when the next attempt is made.
    enum Nature: Hashable, Sendable {
        /// The network failed, and may work again at any moment.
        case network
        /// The host's name has no address. Name servers must not be queried twice a second.
        case address
        /// The server refused, or the destination is not allowed; an operator must act.
        case refusal
        /// Permanent: no further attempt can succeed.
        case lasting
    }

    var nature: Nature {
        switch code {
        case .badURL: .lasting
        case .unresolvable: .address
        case .notAllowed, .tlsFailed, .protocolError, .applicationRefused, .publishRefused: .refusal
        default: .network
        }
    }
}
