/// The HLS that a relay has a packager make, and the first line that the packager reads.
public struct PlannedHLS: Hashable, Codable, Sendable {
    /// Absolute path of the room's directory, in which each session has its own.
    public var directory: String
    public var settings: HLSSettings

    public init(directory: String, settings: HLSSettings) {
        self.directory = directory
        self.settings = settings
    }
}
