/// The settings for recording a room's program. Everything has a default.
public struct RecordingSettings: Hashable, Codable, Sendable {
    /// Whether the recording continues in the same file after a recorder or a relay was lost.
    public var singleFilePerLayer: Bool
    /// Whether the streams of all participants are also recorded, untouched, each in its own file.
    public var participants: Bool
    /// Duration after which the recording ends by itself, in seconds; `nil` means never.
    public var maxSeconds: Int?
    /// Size at which the recording ends by itself, in bytes; `nil` means never.
    public var maxBytes: Int64?
    /// Duration after which a new file begins with the next keyframe, in seconds; `nil` means never.
    public var partSeconds: Int?
    /// Whether only audio is recorded; `nil` means false.
    public var audioOnly: Bool?
    /// Whether missing time between two stretches of a single file is omitted from the file, as for a pause; `nil`
    /// means false: it remains as a gap.
    public var leavesOutGaps: Bool?
    /// Identifier of the recording, given by the caller that starts it. It stays the same while settings change and the
    /// recording is not stopped.
    public var id: String
    /// Time of the request, in seconds since 1970.
    public var startedAt: Double

    public init(
        singleFilePerLayer: Bool = false, participants: Bool = false, maxSeconds: Int? = nil, maxBytes: Int64? = nil,
        partSeconds: Int? = nil, audioOnly: Bool? = nil, leavesOutGaps: Bool? = nil, id: String = "",
        startedAt: Double = 0
    ) {
        self.singleFilePerLayer = singleFilePerLayer
        self.participants = participants
        self.maxSeconds = maxSeconds
        self.maxBytes = maxBytes
        self.partSeconds = partSeconds
        self.audioOnly = audioOnly
        self.leavesOutGaps = leavesOutGaps
        self.id = id
        self.startedAt = startedAt
    }
}
