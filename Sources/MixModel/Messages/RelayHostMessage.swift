/// A message from the orchestrator to a process that runs the relays of several programs: one JSON object per line on
/// its standard input, which is a socket.
public enum RelayHostCommand: Hashable, Codable, Sendable {
    /// Runs the relay of a task, which listens at `socket`. `number` identifies this run of it in later messages.
    case run(number: Int, task: TaskID, socket: String)
    /// Ends a relay, as SIGTERM does with a relay that has its own process.
    case terminate(number: Int)
    /// Ends a relay without waiting for its outputs to close. It is reported as ended at once.
    case abandon(number: Int)
}

/// A message from such a process to the orchestrator, on the same socket.
public enum RelayHostReport: Hashable, Codable, Sendable {
    /// A relay has ended. Sent once for each `run`.
    ///
    /// - Parameter failure: The reason why it could not run; `nil` if it did.
    case ended(number: Int, failure: String?)
}
