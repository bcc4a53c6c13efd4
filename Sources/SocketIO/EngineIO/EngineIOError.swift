/// A refusal of a request, with the texts and codes that clients know.
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

/// A rule of Engine.IO that a client's bytes violate.
public enum EngineIOFailure: Error, Hashable, Sendable {
    case notUTF8
    case unknownType
    /// The length is not a number, or exceeds the data.
    case badLength
    case badBase64
    /// A payload in a form that its version does not support.
    case binaryPayload
    case tooManyPackets
}
