/// The end of a WebSocket connection, as a close frame states it (RFC 6455, section 7.4).
package struct WebSocketClose: Hashable, Sendable {
    package let code: UInt16
    /// Reason for people who read the client's log, at most 123 bytes.
    package let reason: String

    package init(_ code: UInt16, _ reason: String) {
        self.code = code
        self.reason = reason.shortened(toBytes: 123)
    }

    package static func normal(_ reason: String = "") -> WebSocketClose { WebSocketClose(1000, reason) }
    package static func goingAway(_ reason: String) -> WebSocketClose { WebSocketClose(1001, reason) }
    static func protocolError(_ reason: String) -> WebSocketClose { WebSocketClose(1002, reason) }
    static func notUTF8(_ reason: String) -> WebSocketClose { WebSocketClose(1007, reason) }
    package static func refused(_ reason: String) -> WebSocketClose { WebSocketClose(1008, reason) }
    static func tooLarge(_ bytes: Int) -> WebSocketClose {
        WebSocketClose(1009, "a message may have at most \(bytes) bytes")
    }

    /// Returns whether a client may send the code (RFC 6455, section 7.4.2, and the registry of IANA).
    static func isValid(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
