/// Limits after which a failing destination is given up. Without either limit it is retried forever.
public struct OutputRetry: Hashable, Codable, Sendable {
    /// Maximum number of attempts that fail in a row, including the first. A connection that lasts resets the count.
    public var maxAttempts: Int?
    /// Maximum time without being live, in seconds.
    public var maxSeconds: Int?

    public static let attempts = 1...10_000
    public static let seconds = 1...86_400

    public init(maxAttempts: Int? = nil, maxSeconds: Int? = nil) {
        self.maxAttempts = maxAttempts
        self.maxSeconds = maxSeconds
    }
}
