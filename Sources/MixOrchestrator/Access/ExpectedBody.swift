import HTTPTypes
import Hummingbird
import NIOCore

/// `Expect: 100-continue` (RFC 9110, section 10.1.1): a client that waits with its body until it knows that it is wanted.
enum ExpectedBody {
    /// Sent through a connection's pipeline when somebody is about to read the body.
    struct IsWanted: Sendable {}

    /// Whether the client waits. Of methods that have no body nobody reads one.
    static func isAnnounced(by head: HTTPRequest) -> Bool {
        guard let value = head.headerFields[.expect], ![.get, .head, .options].contains(head.method) else {
            return false
        }
        return value.lowercased().trimmed == "100-continue"
    }
}

extension OrchestratorContext {
    /// Has a client that waits for it send the body. To be called when nothing in the head stands against the request.
    func wantsBody(of request: Request) {
        guard ExpectedBody.isAnnounced(by: request.head) else { return }
        channel.triggerUserOutboundEvent(ExpectedBody.IsWanted(), promise: nil)
    }
}

extension HTTPRequest {
    /// Whether a body follows, which may still be empty if it comes in chunks.
    var announcesBody: Bool {
        headerFields[.transferEncoding] != nil || headerFields[.contentLength].map { $0 != "0" } ?? false
    }
}

extension Request {
    /// Refuses a body that says itself that it is too long.
    ///
    /// - Throws: `OrchestratorError` of status 413.
    func checkLength(upTo limit: Int = BodyLimit.bytes) throws(OrchestratorError) {
        guard let length = headers[.contentLength].flatMap({ Int($0) }), length > limit else { return }
        throw .bodyTooLarge(limit)
    }
}
