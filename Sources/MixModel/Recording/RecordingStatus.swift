/// How a relay gets on with one file after another of one recording: of its program, or of what somebody publishes.
public struct RecordingStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// Its process is there, the first keyframe is not.
        case starting
        case recording
        /// The process was lost and is started again.
        case recovering
        /// It ended by itself, as was asked for.
        case ended
        /// It ended, and trying again would not help.
        case failed
    }

    /// `RecordingSettings.id`.
    public var id: String
    /// What somebody publishes, untouched; `nil` = the program.
    public var source: SourceID?
    public var state: State
    /// The newest file's name, without its directory.
    public var file: String?
    /// Files so far.
    public var files: Int
    /// Of media, and of all files together.
    public var seconds: Double
    public var bytes: Int64
    /// Why it does not run, or did not when it was lost last.
    public var error: ServiceState.Failure?
    /// Times that the process was started again.
    public var restarts: Int

    public init(
        id: String, source: SourceID? = nil, state: State = .starting, file: String? = nil, files: Int = 0,
        seconds: Double = 0, bytes: Int64 = 0, error: ServiceState.Failure? = nil, restarts: Int = 0
    ) {
        self.id = id
        self.source = source
        self.state = state
        self.file = file
        self.files = files
        self.seconds = seconds
        self.bytes = bytes
        self.error = error
        self.restarts = restarts
    }

    public var service: ServiceState {
        ServiceState(running: state == .starting || state == .recording, error: error)
    }
}
