import MixModel
import RoomService

/// What is on disk of a session's recording.
enum HMSFilesOnDisk: Hashable, Sendable {
    /// A recorder is at work on one.
    case beingWritten
    case closed([File])

    struct File: Hashable, Sendable {
        var name: String
        /// In bytes.
        var size: Int64
        /// In seconds.
        var duration: Double
    }

    /// - Parameters:
    ///   - files: Files of the room.
    ///   - id: The recording's id.
    init(_ files: [RecordingShelf.Recorded], of id: String) {
        let mine = files.filter { $0.manifest.recording == id && $0.manifest.source == nil }
        guard !mine.contains(where: \.isBeingWritten) else {
            self = .beingWritten
            return
        }
        self = .closed(
            mine.reversed().map {
                File(name: $0.manifest.file, size: $0.bytes, duration: $0.manifest.duration.boundedSeconds)
            })
    }
}
