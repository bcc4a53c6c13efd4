import MixModel

/// A stream in a media server's own terms.
package struct MediaServerStream: Hashable, Sendable {
    /// Virtual host; empty if the server has none.
    package var vhost: String
    /// Application, or the folder of the path.
    package var app: String
    /// Name of the stream, which may be a secret; `nil` if it is not UTF-8.
    package var name: String?
    /// Arguments of the publisher's URL.
    package var arguments: HookForm
    /// Identifier of the publisher's connection; unique only until the server restarts.
    package var session: String?

    package init(
        vhost: String = "", app: String, name: String?, arguments: HookForm = HookForm([UInt8]()),
        session: String? = nil
    ) {
        self.vhost = vhost
        self.app = app
        self.name = name
        self.arguments = arguments
        self.session = session
    }
}

/// Turns a media server's streams into events, according to the hook's settings.
package struct HookReader: Sendable {
    package let settings: HookSettings
    private let parser: EventParser

    /// - Parameter parser: Provides the allow-list of pull URLs, and the template for hooks without their own.
    package init(settings: HookSettings, parser: EventParser) {
        self.settings = settings
        self.parser = parser
    }

    /// Returns the outcome of a call about a publisher.
    ///
    /// - Parameters:
    ///   - id: Identifier of the event, for servers without connections.
    ///   - time: Time of the event in seconds since 1970, if the server provides it.
    package func outcome(
        _ call: String, _ weight: HookOutcome.Weight, _ step: HookSession.Step, of stream: MediaServerStream,
        id: String? = nil, time: Double? = nil
    ) -> HookOutcome {
        let names: StreamNames
        switch settings.names.names(of: stream) {
        case .success(let found): names = found
        case .failure(let reason): return HookOutcome(call: call, weight: weight, unmatched: reason.text)
        }
        let session = stream.session.map { HookSession(id: $0, step: step) }
        let kind: RoomEvent.Kind
        switch step {
        case .begins, .continues:
            do throws(InputError) {
                kind = .streamPublished(
                    Publication(user: names.user, stream: names.stream, url: try pullURL(of: stream, as: names)))
            } catch {
                return HookOutcome(call: call, weight: weight, refusal: error)
            }
        case .ends, .mayEnd:
            kind = .streamUnpublished(user: names.user, stream: names.stream, reason: nil)
        }
        return HookOutcome(
            call: call, weight: weight,
            events: [HookEvent(room: names.room, kind: kind, id: id, time: time, session: session)])
    }

    /// Returns the outcome of a question whether a publisher may start, for servers that report the start in a separate
    /// call.
    func permission(_ call: String, for stream: MediaServerStream) -> HookOutcome {
        var outcome = outcome(call, .decisive, .begins, of: stream)
        outcome.events = []
        return outcome
    }

    private func pullURL(of stream: MediaServerStream, as names: StreamNames) throws(InputError) -> String {
        let text: String
        if let template = settings.urlTemplate {
            guard !stream.app.isEmpty || !template.text.contains("{app}") else {
                throw InputError(
                    .invalidField, field: "app", found: "none",
                    expected:
                        "an application before the name, as in live/lobby__alice, because the setting url has {app}")
            }
            text = template.url(of: stream, stream.name ?? "", as: names)
        } else if let template = parser.urlTemplate {
            text = EventParser.substitute(
                template,
                [
                    "app": names.room.app.rawValue, "room": names.room.name, "user": names.user.rawValue,
                    "stream": names.stream.rawValue,
                ])
        } else {
            throw InputError(
                .missingField, field: "url", expected: "the hook's setting url, or sources.urlTemplate")
        }
        return try checked(text)
    }

    /// Returns the URL, if it may be pulled.
    ///
    /// - Throws: `InputError` for any other URL.
    func checked(_ url: String) throws(InputError) -> String {
        try parser.allowList.check(url, schemes: EventParser.pullSchemes, field: "url", setting: "sources.allow").text
    }
}
