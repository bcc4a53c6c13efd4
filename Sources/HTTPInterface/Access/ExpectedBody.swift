import HTTPTypes
import Hummingbird
import NIOCore

/// `Expect: 100-continue` (RFC 9110, section 10.1.1): the client sends its body only after the service asks for it.
enum ExpectedBody {
    /// The event sent through a connection's pipeline when the service is about to read the body.
    struct IsWanted: Sendable {}

    /// Returns whether the client waits before it sends a body. False for methods without a body.
    static func isAnnounced(by head: HTTPRequest) -> Bool {
        guard let value = head.headerFields[.expect], ![.get, .head, .options].contains(head.method) else {
            return false
        }
        return value.lowercased().trimmed == "100-continue"
    }
}

extension OrchestratorContext {
    /// Asks a client that waits to send its body. Call this once the head has passed all checks.
    func wantsBody(of request: Request) {
        guard ExpectedBody.isAnnounced(by: request.head) else { return }
        channel.triggerUserOutboundEvent(ExpectedBody.IsWanted(), promise: nil)
    }
}

extension HTTPRequest {
    /// Whether a body follows. A chunked body may still be empty.
    var announcesBody: Bool {
        headerFields[.transferEncoding] != nil || headerFields[.contentLength].map { $0 != "0" } ?? false
    }
}

extension Request {
    /// Refuses a body whose announced length is above the limit, in bytes.
    ///
    /// - Throws: `HTTPProblem` of status 413.
    func checkLength(upTo limit: Int = BodyLimit.bytes) throws(HTTPProblem) {
        guard let length = headers[.contentLength].flatMap({ Int($0) }), length > limit else { return }
        throw .bodyTooLarge(limit)
    }
}
