/// How a room's program is recorded. Everything has a default.
public struct RecordingSettings: Hashable, Codable, Sendable {
    /// What was recorded before a recorder or a relay was lost and what comes after it go into one file.
    public var singleFilePerLayer: Bool
    /// What every participant publishes is recorded too, as it comes, each in a file of its own.
    public var participants: Bool
    /// The recording ends by itself after so many seconds; `nil` = never.
    public var maxSeconds: Int?
    /// The recording ends by itself when it has so many bytes; `nil` = never.
    public var maxBytes: Int64?
    /// A new file begins with the first keyframe after so many seconds; `nil` = never.
    public var partSeconds: Int?
    /// Names one recording: it stays while settings change and nothing is stopped. Given by whoever starts it.
    public var id: String
    /// When it was asked for, in seconds since 1970.
    public var startedAt: Double

    public init(
        singleFilePerLayer: Bool = false, participants: Bool = false, maxSeconds: Int? = nil, maxBytes: Int64? = nil,
        partSeconds: Int? = nil, id: String = "", startedAt: Double = 0
    ) {
        self.singleFilePerLayer = singleFilePerLayer
        self.participants = participants
        self.maxSeconds = maxSeconds
        self.maxBytes = maxBytes
        self.partSeconds = partSeconds
        self.id = id
        self.startedAt = startedAt
    }
}
