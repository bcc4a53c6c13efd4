import EventSubscription
import RoomService
import TextFormats

/// The app server's answer to a question of WCS' hooks. Pure.
enum WCSHookVerdict: Hashable, Sendable {
    /// - Parameter fields: The answer's fields; empty if none can be read.
    case allowed([String: JSONValue])
    /// The server refuses: 403.
    ///
    /// - Parameter reason: Its text for the client, if any.
    case denied(reason: String?)
    /// The server cannot be asked.
    ///
    /// - Parameter words: Description for the log.
    case failed(words: String)

    /// Longest reason that is passed on, in bytes.
    static let longestReason = 200

    init(_ answer: WebhookAnswer) {
        var fields: [String: JSONValue] = [:]
        if let body = answer.body, case .object(let members)? = try? JSONValue(parsing: body) { fields = members }
        switch (answer.result, answer.code) {
        case (.delivered, _): self = .allowed(fields)
        case (.refused, 403?):
            let words = fields.text("info", atMost: 16 << 10) ?? fields.text("reason", atMost: 16 << 10)
            let reason = words.map { OneLine.of(URLRedaction.redact($0)).shortened(toBytes: Self.longestReason) }
            self = .denied(reason: reason == "" ? nil : reason)
        default: self = .failed(words: answer.error ?? "was not asked: \(answer.result.rawValue)")
        }
    }
}
