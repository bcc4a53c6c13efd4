import MixModel
import RoomService

/// The files of a session's recording on disk.
enum HMSFilesOnDisk: Hashable, Sendable {
    /// A recorder is still writing a file.
    case beingWritten
    case closed([File])

    struct File: Hashable, Sendable {
        var name: String
        /// Size in bytes.
        var size: Int64
        /// Duration in seconds.
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
