import Foundation
import HTTPTypes

/// The entity tag of settings (RFC 9110 §8.8.3). State that changes by itself, such as a task's, has no part in it.
struct SettingsTag: Hashable, Sendable {
    /// Tag with its quotes, as in headers.
    let text: String

    init(_ version: Int64?) { text = "\"\(String(version ?? 0, radix: 36))\"" }
}

/// A request's condition on the settings that it changes: `If-Match`, `If-None-Match` (RFC 9110 §13.1).
enum SettingsPrecondition: Hashable, Sendable {
    case none
    /// The settings must exist, with one of these tags if any are named.
    case isAt(Set<String>)
    /// The settings must not exist yet.
    case isNew

    /// - Throws: `OrchestratorError` when `If-None-Match` is anything but `*`, or `If-Match` is neither `*` nor tags.
    init(_ headers: HTTPFields) throws(OrchestratorError) {
        let tags = try headers[.ifMatch].map { text throws(OrchestratorError) in try EntityTags.parse(text) }
        if let text = headers[.ifNoneMatch] {
            guard text == "*" else {
                throw EntityTags.malformed("If-None-Match", text, "*, which means: only if it does not exist yet")
            }
            self = .isNew
        } else if let tags {
            self = .isAt(tags == ["*"] ? [] : Set(tags))
        } else {
            self = .none
        }
    }

    /// Requires `If-Match`, for changes that must not overwrite what their sender has not seen.
    ///
    /// - Throws: `OrchestratorError` with status 428 without `If-Match`, together with the tag to send.
    func required(_ current: SettingsTag) throws(OrchestratorError) {
        guard case .isAt = self else {
            throw OrchestratorError(
                HTTPResponse.Status(code: 428, reasonPhrase: "Precondition Required"), "precondition-required",
                "The change must state the version it is based on", detail: "the settings are now at \(current.text)",
                field: "If-Match", expected: "the ETag of the response you read, or * to change any version",
                headers: [.eTag: current.text])
        }
    }

    /// - Parameter current: Current tag; `nil` when there are no settings.
    /// - Throws: `OrchestratorError` with status 412, together with the current tag.
    func check(_ name: String, _ current: SettingsTag?) throws(OrchestratorError) {
        let holds =
            switch self {
            case .none: true
            case .isNew: current == nil
            case .isAt(let tags): current.map { tags.isEmpty || tags.contains($0.text) } ?? false
            }
        guard !holds else { return }
        throw OrchestratorError(
            .preconditionFailed, "settings-changed", "The settings are not in the expected state",
            detail: current.map { "\(name) is at \($0.text): read it again and repeat the change" }
                ?? "\(name) does not exist",
            headers: current.map { [.eTag: $0.text] } ?? [:])
    }
}
