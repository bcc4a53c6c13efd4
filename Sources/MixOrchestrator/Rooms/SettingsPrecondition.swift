import Foundation
import HTTPTypes

/// The entity tag of settings (RFC 9110 §8.8.3). What happens by itself, such as a task's state, has no part in it.
struct SettingsTag: Hashable, Sendable {
    /// With its quotes, as in headers.
    let text: String

    init(_ version: Int64?) { text = "\"\(String(version ?? 0, radix: 36))\"" }
}

/// What a request expects of the settings that it changes: `If-Match`, `If-None-Match` (RFC 9110 §13.1).
enum SettingsPrecondition: Hashable, Sendable {
    case none
    /// They have to be there, as one of these tags if any are named.
    case isAt(Set<String>)
    /// They must not be there yet.
    case isNew

    /// - Throws: When `If-None-Match` is anything but `*`.
    init(_ headers: HTTPFields) throws(OrchestratorError) {
        if let text = headers[.ifNoneMatch] {
            guard text == "*" else {
                throw OrchestratorError(
                    .badRequest, "invalid-field", "A header cannot be used",
                    detail: "If-None-Match: found something else than *", field: "If-None-Match",
                    expected: "*, which means: only if it is not there yet")
            }
            self = .isNew
        } else if let text = headers[.ifMatch] {
            let tags = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            self = .isAt(tags == ["*"] ? [] : Set(tags))
        } else {
            self = .none
        }
    }

    /// For changes that must not overwrite what their sender has not seen.
    ///
    /// - Throws: 428 without `If-Match`, together with the tag to send.
    func required(_ current: SettingsTag) throws(OrchestratorError) {
        guard case .isAt = self else {
            throw OrchestratorError(
                HTTPResponse.Status(code: 428, reasonPhrase: "Precondition Required"), "precondition-required",
                "The change must name what it is based on", detail: "the settings are at \(current.text) now",
                field: "If-Match", expected: "the ETag of the answer that you read, or * to change it however it is",
                headers: [.eTag: current.text])
        }
    }

    /// - Parameter current: `nil` when it is not there.
    /// - Throws: 412, together with the current tag.
    func check(_ name: String, _ current: SettingsTag?) throws(OrchestratorError) {
        let holds =
            switch self {
            case .none: true
            case .isNew: current == nil
            case .isAt(let tags): current.map { tags.isEmpty || tags.contains($0.text) } ?? false
            }
        guard !holds else { return }
        throw OrchestratorError(
            .preconditionFailed, "settings-changed", "The settings are not as expected",
            detail: current.map { "\(name) is at \($0.text): read it again and repeat the change" }
                ?? "\(name) is not there",
            headers: current.map { [.eTag: $0.text] } ?? [:])
    }
}
