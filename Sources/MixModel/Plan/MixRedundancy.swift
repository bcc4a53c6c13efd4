/// What runs beside a mix so that it survives its mixer.
public enum MixRedundancy: String, Hashable, Codable, Sendable, CaseIterable {
    case off = "none"
    /// A second mixer renders the same scene all the time. A mix costs twice as much.
    case twin
}
