/// Names one cause: everything in a task's timeline that it led to carries it.
public struct CauseID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Why something is decided, and when its cause was received.
public struct Cause: Hashable, Codable, Sendable {
    /// In ns of CLOCK_MONOTONIC.
    public var receivedAt: Int64
    /// In words: `stream.published bob/camera`.
    public var summary: String
    /// `nil` where nobody follows what becomes of it.
    public var id: CauseID?

    public init(receivedAt: Int64, summary: String, id: CauseID? = nil) {
        self.receivedAt = receivedAt
        self.summary = summary
        self.id = id
    }
}

/// An event as its sender names it.
public struct EventReference: Hashable, Codable, Sendable {
    public var source: String
    public var id: String

    public init(source: String, id: String) {
        self.source = source
        self.id = id
    }
}
