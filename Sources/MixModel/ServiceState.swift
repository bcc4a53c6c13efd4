/// The state of one kind of output of a room, as shown by apps.
public struct ServiceState: Hashable, Codable, Sendable {
    /// A reason why an output does not run as requested.
    public struct Failure: Hashable, Codable, Sendable {
        /// Stable code in snake_case, such as `disk_full` or `publish_refused`.
        public var code: String
        /// Subject and remedy, for people; redacted.
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
