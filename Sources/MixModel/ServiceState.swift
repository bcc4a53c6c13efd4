/// One kind of output of a room as apps show it.
public struct ServiceState: Hashable, Codable, Sendable {
    /// Why it does not run as asked for.
    public struct Failure: Hashable, Codable, Sendable {
        /// Stable, in snake_case: `disk_full`, `publish_refused` ….
        public var code: String
        /// What it is about and what to do, for people; redacted.
        public var message: String

        public init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    public var running: Bool
    public var error: Failure?

    public init(running: Bool = false, error: Failure? = nil) {
        self.running = running
        self.error = error
    }
}
