/// The parameters of a request's URL.
public struct EngineIOQuery: Hashable, Sendable {
    public var version: EngineIOVersion
    public var transport: EngineIOTransport
    /// The connection that the request belongs to; `nil` = a new one.
    public var session: String?
    /// Whether the client takes no binary form, of payloads and of WebSocket messages (`b64=1`).
    public var isTextOnly: Bool

    /// - Parameters:
    ///   - missingIsThree: Whether a request without `EIO` is of version 3, as those of old clients for Swift are.
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
        // A connection has its version from its beginning.
        case _ where session != nil: version = .three
        case nil where missingIsThree: version = .three
        default: throw .unsupportedVersion
        }
        // Scripts as answers are for browsers of another age.
        guard value("j") == nil else { throw .badRequest }
        isTextOnly = value("b64").map { $0 != "0" && $0 != "false" } ?? false
    }
}
