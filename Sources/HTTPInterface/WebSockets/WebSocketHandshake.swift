import Crypto
import Foundation
import HTTPTypes

/// The opening handshake (RFC 6455, section 4.2).
enum WebSocketHandshake {
    /// Returns whether a request asks for a WebSocket.
    static func isAsked(by head: HTTPRequest) -> Bool {
        head.method == .get && names("websocket", head.headerFields[.upgrade])
    }

    /// Returns the header fields of the answer with status 101. Subprotocols and extensions are not negotiated.
    ///
    /// - Throws: `HTTPProblem` of status 400 or 426.
    static func answer(to head: HTTPRequest) throws(HTTPProblem) -> HTTPFields {
        guard names("upgrade", head.headerFields[.connection]) else {
            throw broken("Connection", "a list with the option Upgrade")
        }
        guard head.headerFields[.secWebSocketVersion] == "13" else {
            var problem = broken("Sec-WebSocket-Version", "13")
            problem.status = .upgradeRequired
            problem.headers[.secWebSocketVersion] = "13"
            throw problem
        }
        guard let key = head.headerFields[.secWebSocketKey], Data(base64Encoded: key)?.count == 16 else {
            throw broken("Sec-WebSocket-Key", "one, 16 bytes in Base64")
        }
        return [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: accept(key)]
    }

    /// Returns the proof that the server has read the key.
    static func accept(_ key: String) -> String {
        Data(Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }

    /// Returns whether a header's list names an option, ignoring case.
    private static func names(_ option: String, _ list: String?) -> Bool {
        (list ?? "").split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces).lowercased() == option }
    }

    private static func broken(_ field: String, _ expected: String) -> HTTPProblem {
        HTTPProblem(
            .badRequest, "websocket-handshake", "The request for a WebSocket is incomplete",
            detail: "\(field) is missing or has another value (RFC 6455, section 4.2.1)", field: field,
            expected: expected)
    }
}
