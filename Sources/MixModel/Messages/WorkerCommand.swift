/// A message from the orchestrator to a worker that serves one stream: one JSON object per line.
public protocol WorkerCommand: Hashable, Codable, Sendable {
    /// Version of the messages in both directions.
    static var version: Int { get }
    /// Longest line in either direction, in bytes.
    static var longestLine: Int { get }
    /// Ends the worker.
    static var terminate: Self { get }
    /// Version that the orchestrator speaks, in the first line of a connection; `nil` for any other command.
    var helloVersion: Int? { get }
}

extension WebRTCCommand: WorkerCommand {
    public var helloVersion: Int? { if case .hello(let version) = self { version } else { nil } }
}

extension PlayCommand: WorkerCommand {
    public var helloVersion: Int? { if case .hello(let version) = self { version } else { nil } }
}

extension PageCommand: WorkerCommand {
    public var helloVersion: Int? { if case .hello(let version) = self { version } else { nil } }
}
