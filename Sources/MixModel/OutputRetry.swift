/// When a destination that fails is given up. Without either limit it is tried for ever.
public struct OutputRetry: Hashable, Codable, Sendable {
    /// Attempts that may fail in a row, the first one included; a connection that lasts makes the count begin anew.
    public var maxAttempts: Int?
    /// How long it may go without being live, in seconds.
    public var maxSeconds: Int?

    public static let attempts = 1...10_000
    public static let seconds = 1...86_400

    public init(maxAttempts: Int? = nil, maxSeconds: Int? = nil) {
        self.maxAttempts = maxAttempts
        self.maxSeconds = maxSeconds
    }
}
