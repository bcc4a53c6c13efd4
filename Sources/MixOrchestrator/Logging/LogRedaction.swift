import EventSubscription
import Foundation

/// What must not be in a log, whoever wrote it.
enum LogRedaction {
    /// URLs become their redacted form, and so does what stands behind `Bearer`.
    static func text(_ text: String) -> String {
        let clean = Redaction.text(text)
        guard clean.range(of: "bearer ", options: .caseInsensitive) != nil else { return clean }
        return clean.replacing(#/(?i)(bearer\s+)[^\s"',;]+/#) { "\($0.1)***" }
    }
}
