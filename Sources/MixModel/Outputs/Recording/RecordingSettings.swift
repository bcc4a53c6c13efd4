/// The settings for recording a room's program. Everything has a default.
public struct RecordingSettings: Hashable, Codable, Sendable {
    /// Whether the recording goes on in the same file after a recorder or a relay was lost.
    public var singleFilePerLayer: Bool
    /// Whether the streams of all participants are recorded too, untouched, each in a file of its own.
    public var participants: Bool
    /// Duration after which the recording ends by itself, in seconds; `nil` means never.
    public var maxSeconds: Int?
    /// Size at which the recording ends by itself, in bytes; `nil` means never.
    public var maxBytes: Int64?
    /// Duration after which a new file begins with the next keyframe, in seconds; `nil` means never.
    public var partSeconds: Int?
    /// Whether only sound is recorded; `nil` means false.
    public var audioOnly: Bool?
    /// Whether time that is missing between two stretches of a single file is left out of it, as that of a pause; `nil` means
    /// false: it is a gap.
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
