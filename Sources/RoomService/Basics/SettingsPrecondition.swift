/// The entity tag of settings (RFC 9110 §8.8.3). State that changes by itself, such as a task's, is not part of it.
package struct SettingsTag: Hashable, Sendable {
    /// Tag including its quotes, as in headers.
    package let text: String

    package init(_ version: Int64?) { text = "\"\(String(version ?? 0, radix: 36))\"" }
}

/// A request's condition on the settings it changes.
package enum SettingsPrecondition: Hashable, Sendable {
    case none
    /// The settings must exist, with one of these tags if any are named.
    case isAt(Set<String>)
    /// The settings must not exist yet.
    case isNew

    /// - Parameter current: Current tag; `nil` when there are no settings.
    /// - Throws: `OrchestratorError` when the settings do not meet the condition, with the current tag.
    package func check(_ name: String, _ current: SettingsTag?) throws(OrchestratorError) {
        let holds =
            switch self {
            case .none: true
            case .isNew: current == nil
            case .isAt(let tags): current.map { tags.isEmpty || tags.contains($0.text) } ?? false
            }
        guard !holds else { return }
        throw OrchestratorError(
            .outdated, "settings-changed", "The settings are not in the expected state",
            detail: current.map { "\(name) is at \($0.text): read it again and repeat the change" }
                ?? "\(name) does not exist",
            currentTag: current)
    }
}
