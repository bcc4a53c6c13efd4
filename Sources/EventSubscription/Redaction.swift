import TextFormats

/// Removal of secrets from untrusted text.
public enum Redaction {
    /// Returns the text with every URL redacted. The text around URLs is unchanged.
    public static func text(_ text: String) -> String { URLRedaction.redact(text) }
}
