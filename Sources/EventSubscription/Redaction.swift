import MixModel

/// Takes secrets out of text that somebody else wrote.
public enum Redaction {
    /// Every URL in the text becomes its redacted form; what stands around it stays.
    public static func text(_ text: String) -> String { URLRedaction.redact(text) }
}
