/// An identifier of a cause, carried by every timeline entry that the cause led to.
public struct CauseID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The reason for a decision, with the time at which it was received.
public struct Cause: Hashable, Codable, Sendable {
    /// Time of receipt. In nanoseconds of CLOCK_MONOTONIC.
    public var receivedAt: Int64
    /// Human-readable description, such as `stream.published bob/camera`.
    public var summary: String
    /// Identifier that links the consequences in timelines; `nil` if they are not tracked.
    public var id: CauseID?

    public init(receivedAt: Int64, summary: String, id: CauseID? = nil) {
        self.receivedAt = receivedAt
        self.summary = summary
        self.id = id
    }
}

/// A reference to an event by its sender's identifiers.
public struct EventReference: Hashable, Codable, Sendable {
    public var source: String
    public var id: String

    public init(source: String, id: String) {
        self.source = source
        self.id = id
    }
}
