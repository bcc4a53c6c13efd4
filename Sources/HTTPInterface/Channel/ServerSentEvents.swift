import MixModel
import NIOCore
import RoomChannel
import RoomService

/// The events of a channel's stream, as chunks of a chunked response (RFC 9112, section 7.1).
///
/// Events that are repeated when a stream is resumed have an `id`, so that `Last-Event-ID` names the last message that
/// a page has.
enum ServerSentEvents {
    /// Delay in ms after which a page reconnects.
    static let retry = 2000

    static let heartbeat = framed(":\n\n")

    /// Returns a notice as one event. A notice without an event gives no chunk: an empty chunk would end the response.
    static func chunk(of notice: ChannelNotice) -> ByteBuffer {
        let text = event(of: notice)
        return text.isEmpty ? ByteBuffer() : framed(text)
    }

    /// Returns what a stream begins with: `state`, then what was deleted of the messages that the follower has, and those that it
    /// does not have.
    static func chunk(of welcome: ChannelWelcome) -> ByteBuffer {
        var text = "retry: \(retry)\n" + event("state", Welcome(welcome))
        for id in welcome.deleted { text += event(of: .deleted(id: id)) }
        for message in welcome.messages { text += event(of: .message(message)) }
        return framed(text)
    }

    private static func event(of notice: ChannelNotice) -> String {
        switch notice {
        case .message(let message) where message.kind == .like: event("like", message)
        case .message(let message): event(message.kind.rawValue, message, id: message.id)
        case .deleted(let id): event("deleted", Deleted(id: id))
        case .viewers(let audience): event("viewers", AudienceView(audience))
        case .onAir(let onAir): event("onAir", onAir)
        case .opened(let title): event("opened", Opened(title: title))
        case .ended: event("ended", Ended())
        // Followers have received `ended`.
        case .closed: ""
        case .rules(let rules): event("rules", rules)
        }
    }

    /// Returns one event. JSON written by `DocumentEncoder` has no line breaks.
    private static func event(_ name: String, _ data: some Encodable, id: Int64? = nil) -> String {
        let json = (try? DocumentEncoder.json(data)) ?? "{}"
        return (id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: \(json)\n\n"
    }

    private static func framed(_ text: String) -> ByteBuffer {
        ByteBuffer(string: String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
    }

    private struct Deleted: Encodable { var id: Int64 }
    private struct Opened: Encodable { var title: String? }
    private struct Ended: Encodable {}
    private struct Welcome: Encodable {
        var state: ChannelStateView
        /// Whether messages are missing between the last one that the page has and the first one here.
        var isIncomplete: Bool

        init(_ welcome: ChannelWelcome) {
            state = ChannelStateView(welcome.state)
            isIncomplete = welcome.isIncomplete
        }
    }
}
