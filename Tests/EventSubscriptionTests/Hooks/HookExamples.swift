import MixModel

@testable import EventSubscription

/// Requests as media servers send them, and short forms of their outcomes.
enum HookExamples {
    static func json(_ text: String, headers: [HookRequest.Header] = [], arrival: Double = 0) -> HookRequest {
        HookRequest(
            method: .post, headers: [.init(name: "content-type", value: "application/json")] + headers,
            body: Array(text.utf8), arrival: arrival)
    }

    static func form(_ text: String) -> HookRequest {
        HookRequest(
            method: .post, headers: [.init(name: "content-type", value: "application/x-www-form-urlencoded")],
            body: Array(text.utf8))
    }

    static let secret = HookSecret("0123456789abcdef")
}

extension HookOutcome {
    /// Summaries of the events, such as `lobby: stream.published alice/camera`.
    var words: [String] {
        events.map { event in
            let whole = RoomEvent(room: event.room, source: "", id: "", kind: event.kind)
            return "\(event.room.name): \(whole.summary)"
        }
    }

    /// Pull URLs of the publications.
    var urls: [String] {
        events.compactMap { if case .streamPublished(let publication) = $0.kind { publication.url } else { nil } }
    }
}

extension HookAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
}
