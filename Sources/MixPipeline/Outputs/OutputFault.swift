import MixModel

/// What is wrong with a connection to a destination.
struct OutputFault: Error, Hashable, Sendable {
    var code: OutputErrorCode
    /// For operators: the server's or the system's words.
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
            case .lost: .connectionLost
            case .tlsFailed: .tlsFailed
            case .protocolBroken: .protocolError
            case .applicationRefused: .applicationRefused
            case .streamRefused: .publishRefused
            case .badURL: .badURL
            }
        words = fault.words
    }

    /// What an attempt that failed says about the next one.
    enum Nature: Hashable, Sendable {
        /// The way there: it may be open again at any moment.
        case network
        /// There is no address to go to; whoever tells addresses is not to be asked twice a second.
        case address
        /// The server has answered, and does not want us: somebody has to change something.
        case refusal
        /// It will never be otherwise.
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
