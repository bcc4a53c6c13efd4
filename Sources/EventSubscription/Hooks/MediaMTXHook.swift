import TextFormats

/// The calls of MediaMTX: the reports posted by its commands `runOnReady` and `runOnNotReady` (`runOnAvailable` and
/// `runOnUnavailable`), and its question whether a client may perform an action (`authMethod: http`).
///
/// Format: `internal/auth`, `internal/hooks` and `mediamtx.yml` of `bluenviron/mediamtx`. The commands are written by
/// the operator: their fields are `event`, `path`, `source_id` and `query`, as a form or JSON. A question is JSON with
/// `action`, `path` and `protocol`; any status but 2xx is a refusal. MediaMTX repeats nothing.
package struct MediaMTXHook: EventHook {
    package let name = "mediamtx"

    package init() {}

    package let example = HookRequest(
        method: .post,
        headers: [.init(name: "content-type", value: "application/x-www-form-urlencoded")],
        body: Array(
            ("event=ready&path=live/lobby__alice&source_type=rtmpConn"
                + "&source_id=5a1f7d1e-7b6c-4f0e-9a53-0d9b8f5d3c11").utf8))

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let first = request.body.first { !" \t\r\n".utf8.contains($0) }
        if first == UInt8(ascii: "{") {
            let document = try HookDocument(parsing: request.body)
            if let action = document["action"].text { return try permission(action, document, reader) }
            return try report(reader) { document[$0].text }
        }
        let form = HookForm(request.body)
        return try report(reader) { form.first($0) }
    }

    /// Parses a command's report.
    private func report(_ reader: HookReader, _ field: (String) -> String?) throws(InputError) -> HookOutcome {
        let event = try HookDocument.required(
            field("event"), "event", "the name of the event, such as event=ready (docs/integrations/mediamtx.md)")
        switch event {
        case "ready", "available", "notReady", "unavailable": break
        default: return .ignored("other")
        }
        let begins = event == "ready" || event == "available"
        let path = try HookDocument.required(field("path"), "path", "the value of MTX_PATH")
        guard
            let stream = Self.stream(
                path, query: field("query") ?? "", session: field("source_id").map { String($0.prefix(bytes: 64)) })
        else { return HookOutcome(call: event, weight: .informative, unmatched: Self.pathForm) }
        return reader.outcome(event, .informative, begins ? .begins : .ends, of: stream)
    }

    /// Parses a question whether a client may perform an action.
    private func permission(
        _ action: String, _ document: HookDocument, _ reader: HookReader
    ) throws(InputError) -> HookOutcome {
        switch action {
        case "publish":
            let path = try HookDocument.required(document["path"].text, "path", "the path to publish to")
            guard let stream = Self.stream(path, query: document["query"].text ?? "", session: nil) else {
                return HookOutcome(call: action, weight: .decisive, unmatched: Self.pathForm)
            }
            return reader.permission(action, for: stream)
        case "read", "playback": return HookOutcome(call: action, weight: .decisive)
        case "api", "metrics", "pprof":
            // Permission to watch does not imply permission to control the server.
            guard HookSources.loopback.allows(document["ip"].text ?? "") else {
                return HookOutcome(
                    call: action, weight: .decisive,
                    refusal: InputError(
                        .missingRight, field: "action", found: "\"\(action)\"",
                        expected: "a client on MediaMTX's own machine, or \(action) in authHTTPExclude"))
            }
            return HookOutcome(call: action, weight: .decisive)
        default: return HookOutcome(call: "other", weight: .decisive)
        }
    }

    static let pathForm = "the path has more than three parts"

    /// Returns the stream at a path of one to three parts: virtual host, application and name.
    static func stream(_ path: String, query: String, session: String?) -> MediaServerStream? {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true).map {
            String(Substring($0))
        }
        guard 1...3 ~= parts.count else { return nil }
        return MediaServerStream(
            vhost: parts.count > 2 ? parts[0] : "", app: parts.count > 1 ? parts[parts.count - 2] : "",
            name: parts[parts.count - 1], arguments: HookForm(query.utf8), session: session)
    }
}
