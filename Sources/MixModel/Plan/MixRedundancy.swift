/// The processes that run beside a mix so that it survives its mixer.
public enum MixRedundancy: String, Hashable, Codable, Sendable, CaseIterable {
    case off = "none"
    /// A second mixer always renders the same scene. A mix costs twice as much.
    case twin
}
