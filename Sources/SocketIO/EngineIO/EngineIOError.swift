/// A refusal of a request, in the words and with the codes that clients know.
public enum EngineIOError: Int, Error, Hashable, Sendable, CaseIterable {
    case unknownTransport = 0
    case unknownSession = 1
    case badMethod = 2
    case badRequest = 3
    case forbidden = 4
    case unsupportedVersion = 5

    public var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedVersion: "Unsupported protocol version"
        }
    }

    /// Status of the HTTP answer.
    public var status: Int { self == .forbidden ? 403 : 400 }

    /// Body of the HTTP answer, JSON.
    public var document: String { #"{"code":\#(rawValue),"message":"\#(message)"}"# }
}

/// A rule of Engine.IO that a client's bytes break.
public enum EngineIOFailure: Error, Hashable, Sendable {
    case notUTF8
    case unknownType
    /// A length that is no number, or points behind the end.
    case badLength
    case badBase64
    /// A payload in a form that its version does not have.
    case binaryPayload
    case tooManyPackets
}
