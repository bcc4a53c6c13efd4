import EventSubscription
import Foundation
import MixModel
import RoomService

/// The state of a room's recording, as the API shows it.
struct RecordingView: Encodable {
    /// One stream that is recorded.
    struct Stream: Encodable {
        /// Recorded stream; absent for the program.
        var source: SourceID?
        var state: RecordingStatus.State
        var file: String?
        var files: Int
        var seconds: Double
        var bytes: Int64
        var restarts: Int
        var error: ServiceState.Failure?
    }
    struct Settings: Encodable {
        var singleFilePerLayer: Bool
        var participants: Bool
        var maxSeconds: Int?
        var maxBytes: Int64?
        var partSeconds: Int?
        /// Absent unless only audio is recorded.
        var audioOnly: Bool?
    }

    var running: Bool
    var error: ServiceState.Failure?
    /// Absent while no recording is requested.
    var id: String?
    var startedAt: Date?
    var settings: Settings?
    var streams: [Stream]

    enum CodingKeys: CodingKey { case running, error, id, startedAt, settings, streams }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(running, forKey: .running)
        try container.encode(error, forKey: .error)
        try container.encodeIfPresent(id, forKey: .id)
        try container.encodeIfPresent(startedAt, forKey: .startedAt)
        try container.encodeIfPresent(settings, forKey: .settings)
        try container.encode(streams, forKey: .streams)
    }

    init(_ settings: RecordingSettings?, _ statuses: [RecordingStatus]) {
        let service = ServiceState(settings, statuses)
        running = service.running
        error = service.error?.redacted
        id = settings?.id
        startedAt = settings.map { Date(timeIntervalSince1970: $0.startedAt) }
        self.settings = settings.map {
            Settings(
                singleFilePerLayer: $0.singleFilePerLayer, participants: $0.participants, maxSeconds: $0.maxSeconds,
                maxBytes: $0.maxBytes, partSeconds: $0.partSeconds, audioOnly: $0.audioOnly)
        }
        streams = statuses.filter { $0.id == settings?.id }.map { status in
            Stream(
                source: status.source, state: status.state, file: status.file, files: status.files,
                seconds: status.seconds, bytes: status.bytes, restarts: status.restarts,
                error: status.error?.redacted)
        }
    }
}

/// A file of a recording, as the API shows it.
struct RecordingFileView: Encodable {
    enum State: String, Encodable {
        case recording, complete, unindexed
        /// The recorder was lost. The file plays up to the last second, and seeking in it is slow.
        case interrupted
    }
    struct Switch: Encodable {
        /// Position in the file, in seconds.
        var at: Double
        var from: OnAir?
        var to: OnAir
        var source: SourceID?
        var cause: String
        var panes: [RecordingManifest.Pane]
    }

    var file: String
    var url: String
    var recording: String
    /// Recorded stream; absent for the program.
    var source: SourceID?
    var part: Int
    var state: State
    var startedAt: Date
    var endedAt: Date?
    var duration: Double
    var bytes: Int64
    var hasVideo: Bool
    var hasAudio: Bool
    var endReason: String?
    var error: ServiceState.Failure?
    var switches: [Switch]
    /// Whether the file is on this service; absent if files are not uploaded.
    var local: Bool?
    /// Uploads of the file to storages; absent if files are not uploaded.
    var storage: [StorageView]?
    /// Uploads of its thumbnail; absent if there is none.
    var thumbnail: [StorageView]?

    init(_ recorded: RecordingShelf.Recorded, room: RoomID) {
        let manifest = recorded.manifest
        file = manifest.file
        url =
            "/v1/rooms/\(room.name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")/recordings/\(manifest.file)"
        recording = manifest.recording
        source = manifest.source
        part = manifest.part
        state =
            switch manifest.state {
            case .recording: recorded.isBeingWritten ? .recording : .interrupted
            case .complete: .complete
            case .unindexed: .unindexed
            }
        // Bounded, because the manifest may be damaged.
        startedAt = Date(timeIntervalSince1970: manifest.startedAt.boundedSeconds)
        endedAt = manifest.endedAt.map { Date(timeIntervalSince1970: $0.boundedSeconds) }
        duration = manifest.duration
        bytes = recorded.bytes
        hasVideo = manifest.hasVideo
        hasAudio = manifest.hasAudio
        endReason = manifest.endReason
        error = manifest.error
        switches = manifest.switches.map {
            Switch(at: $0.at, from: $0.from, to: $0.to, source: $0.source, cause: $0.cause, panes: $0.panes)
        }
        storage = recorded.storage?.map(StorageView.init)
        thumbnail = recorded.thumbnail?.map(StorageView.init)
        local = recorded.storage.map { _ in recorded.isHere }
    }
}
