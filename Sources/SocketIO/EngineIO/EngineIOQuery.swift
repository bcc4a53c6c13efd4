/// The parameters of a request's URL.
public struct EngineIOQuery: Hashable, Sendable {
    public var version: EngineIOVersion
    public var transport: EngineIOTransport
    /// The connection to which the request belongs; `nil` = a new one.
    public var session: String?
    /// Whether the client does not accept the binary form of payloads and of WebSocket messages (`b64=1`).
    public var isTextOnly: Bool

    /// - Parameters:
    ///   - missingIsThree: Whether a request without `EIO` is of version 3, as those of old Swift clients are.
    ///   - value: Returns the value of a parameter.
    public init(
        missingIsThree: Bool, _ value: (_ name: String) -> String?
    ) throws(EngineIOError) {
        guard let transport = value("transport").flatMap(EngineIOTransport.init(rawValue:)) else {
            throw .unknownTransport
        }
        self.transport = transport
        session = value("sid")
        switch value("EIO") {
        case "4": version = .four
        case "3": version = .three
        // A connection keeps the version with which it began.
        case _ where session != nil: version = .three
        case nil where missingIsThree: version = .three
        default: throw .unsupportedVersion
        }
        // Answers in the form of scripts are for very old browsers.
        guard value("j") == nil else { throw .badRequest }
        isTextOnly = value("b64").map { $0 != "0" && $0 != "false" } ?? false
    }
}
