/// A recording that a relay makes of its program.
public struct PlannedRecording: Hashable, Codable, Sendable {
    /// Settings of the recording. A relay that already makes it continues; another relay with the same identifier and
    /// directory may continue its file.
    public var settings: RecordingSettings
    /// Absolute path for the room's files. Created if it does not exist.
    public var directory: String
    /// Free space on the disk below which the recording ends, in bytes.
    public var keepFreeBytes: Int64
    /// Node whose files these are, as part of their names: another node that continues the recording does not see them
    /// and numbers its own from 1. `nil` for a service that runs alone.
    public var node: String?

    public var id: String { settings.id }

    public init(settings: RecordingSettings, directory: String, keepFreeBytes: Int64, node: String? = nil) {
        self.settings = settings
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
        self.node = node
    }
}

extension PlannedRecording: OutputDocument {
    public static let kind = "recording"
    public static let planField = OutputField("recordings", .optionalList)
    public static let statusField = OutputField("recordings", .optionalList)

    public var outputID: OutputID { OutputID(id) }

    public static func service(of planned: [PlannedRecording], _ statuses: [RecordingStatus]) -> ServiceState {
        ServiceState(planned.first?.settings, statuses)
    }
}

extension RecordingStatus: OutputStatusDocument {
    public var bounded: RecordingStatus {
        var status = self
        status.files = files.boundedCount
        status.seconds = seconds.boundedSeconds
        status.bytes = bytes.boundedCount
        status.restarts = restarts.boundedCount
        return status
    }
}

extension ServiceState {
    /// Creates the state of a recording as shown by apps: the program's, with a participant's error when the program
    /// has none.
    public init(_ settings: RecordingSettings?, _ statuses: [RecordingStatus]) {
        let mine = statuses.filter { $0.id == settings?.id }
        let program = mine.first { $0.source == nil }
        self.init(
            running: program?.service.running ?? false,
            error: program?.error ?? mine.lazy.compactMap(\.error).first)
    }
}

extension Sequence<PlannedOutput> {
    public var recordings: [PlannedRecording] { of(PlannedRecording.self) }
}

extension Sequence<OutputStatus> {
    public var recordings: [RecordingStatus] { of(RecordingStatus.self) }
}

extension ServiceStates {
    /// The recording of the program.
    public var recording: ServiceState { self[PlannedRecording.kind] }
    /// The recordings of single streams: running if one of them is, with the first error.
    public internal(set) var streamRecordings: ServiceState {
        get { self["streamRecordings"] }
        set { self["streamRecordings"] = newValue }
    }

    /// Applies the recordings of single streams, which are not a separate kind of output.
    public mutating func takeStreams(of statuses: [RecordingStatus]) {
        for status in statuses where status.source != nil {
            streamRecordings.running = streamRecordings.running || status.service.running
            streamRecordings.error = streamRecordings.error ?? status.error
        }
    }
}
