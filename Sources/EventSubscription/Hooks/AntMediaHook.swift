import MixModel
import TextFormats

/// The webhooks of Ant Media Server: `liveStreamStarted` and `liveStreamEnded`, members of conference rooms, and the
/// server's question whether a client may publish (`webhookAuthenticateURL`).
///
/// Format: `AntMediaApplicationAdapter.java` and `WebhookAuthenticator` of `ant-media/Ant-Media-Server`: JSON, or a
/// form in releases before 2.8 and with `webhookContentType`. Webhooks may arrive in a different order than they were
/// sent, so `timestamp` decides. Any 2xx is success; a question needs 200.
package struct AntMediaHook: EventHook {
    package let name = "ant-media"

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/json")],
        body: Array(
            #"{"id":"lobby__alice","action":"liveStreamStarted","streamName":null,"category":null,"app":"live","#.utf8)
            + Array(#""metadata":null,"timestamp":"1769860800123"}"#.utf8))

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let first = request.body.first { !" \t\r\n".utf8.contains($0) }
        guard first == UInt8(ascii: "{") else {
            let form = HookForm(request.body)
            return try outcome(reader) { form.first($0) }
        }
        let document = try HookDocument(parsing: request.body)
        return try outcome(reader) { document[$0].text }
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: HookAnswer(json: "{}")
        case .refused(let reason): HookAnswer(status: 403, text: reason)
        case .failed(let reason): HookAnswer(status: 503, text: reason)
        }
    }

    private func outcome(_ reader: HookReader, _ field: (String) -> String?) throws(InputError) -> HookOutcome {
        if field("action") == nil, let mode = field("mode") { return try permission(mode, reader, field) }
        let action = try HookDocument.required(
            field("action"), "action", "a webhook of Ant Media Server, such as \"action\":\"liveStreamStarted\"")
        let step: Step
        switch action {
        case "liveStreamStarted": step = .stream(begins: true)
        case "liveStreamEnded": step = .stream(begins: false)
        case "subtrackAddedInTheMainTrack": step = .member(joins: true)
        case "subtrackLeftTheMainTrack": step = .member(joins: false)
        default: return .ignored("other")
        }
        let id = try HookDocument.required(
            field("streamId") ?? field("id"), "id", "the identifier of the stream")
        let milliseconds = field("timestamp").flatMap { Int64($0) }
        // Without a time, events count in the order of their arrival.
        let event = milliseconds.map { "\(action):\($0):\(HookSignature.mark(of: id))" }
        let time = milliseconds.map { Double($0) / 1000 }
        let room = field("mainTrackId") ?? field("roomId")
        let app = field("app") ?? ""
        switch step {
        case .member(let joins):
            let room = try HookDocument.required(room, "mainTrackId", "the room")
            return reader.outcome(
                action,
                of: ParticipantReport(
                    room: room, user: id, app: app, name: id, steps: [joins ? .joined(name: nil) : .left], id: event,
                    time: time))
        case .stream(let begins):
            guard let room else {
                return reader.outcome(
                    action, .informative, begins ? .begins : .ends, of: MediaServerStream(app: app, name: id),
                    id: event, time: time)
            }
            return reader.outcome(
                action,
                of: ParticipantReport(
                    room: room, user: id, app: app, name: id,
                    steps: [begins ? .begins(.camera, nil) : .ends(.camera, nil)], id: event, time: time))
        }
    }

    private enum Step {
        case stream(begins: Bool)
        /// A member of a conference room, which is a track that contains other tracks.
        case member(joins: Bool)
    }

    private func permission(
        _ mode: String, _ reader: HookReader, _ field: (String) -> String?
    ) throws(InputError) -> HookOutcome {
        guard mode == "publish" else { return HookOutcome(call: "play", weight: .decisive) }
        let id = try HookDocument.required(
            field("streamId") ?? field("name"), "streamId", "the identifier of the stream")
        return reader.permission(
            mode,
            for: MediaServerStream(
                app: field("appName") ?? "", name: id, arguments: HookForm((field("queryParams") ?? "").utf8)))
    }
}
