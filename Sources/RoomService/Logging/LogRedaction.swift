import EventSubscription
import Foundation

/// Redacts secrets in log text, whatever its origin.
enum LogRedaction {
    /// Redacts URLs, and the words after `Bearer`.
    static func text(_ text: String) -> String {
        let clean = Redaction.text(text)
        guard clean.range(of: "bearer ", options: .caseInsensitive) != nil else { return clean }
        return clean.replacing(#/(?i)(bearer\s+)[^\s"',;]+/#) { "\($0.1)***" }
    }
}
