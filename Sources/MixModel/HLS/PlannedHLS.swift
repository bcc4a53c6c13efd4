/// HLS as a relay has it made: the first line that a packager reads.
public struct PlannedHLS: Hashable, Codable, Sendable {
    /// Absolute path of the room's directory. Each session has its own in it.
    public var directory: String
    public var settings: HLSSettings

    public init(directory: String, settings: HLSSettings) {
        self.directory = directory
        self.settings = settings
    }
}
