/// The state of one recording of a relay, of its program or of one source, over all files of the recording.
public struct RecordingStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// The process is running, but the first keyframe has not arrived.
        case starting
        case recording
        /// The process was lost and is being started again.
        case recovering
        /// The recording ended by itself, as requested.
        case ended
        /// The recording ended with an error, and another attempt would not help.
        case failed
    }

    /// Identifier of the recording (`RecordingSettings.id`).
    public var id: String
    /// Source that is recorded untouched; `nil` means the program.
    public var source: SourceID?
    public var state: State
    /// Name of the newest file, without its directory.
    public var file: String?
    /// Number of files so far.
    public var files: Int
    /// Duration of the media in all files together, in seconds.
    public var seconds: Double
    /// Size of all files together, in bytes.
    public var bytes: Int64
    /// Last failure, if any.
    public var error: ServiceState.Failure?
    /// Number of restarts of the process.
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
