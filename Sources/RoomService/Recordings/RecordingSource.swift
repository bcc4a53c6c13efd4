import Foundation
import MixModel

/// Closed recordings, for the upload.
package struct RecordingSource: UploadSource {
    private let place: RecordingPlace
    /// The maker of recordings' pictures. A file whose picture is due is not removed; `nil` = no pictures are made.
    private let thumbnails: RecordingThumbnails?

    package let kind = UploadItem.Kind.recording
    package let type = "video/mp4"

    /// Age in seconds from which a closed file counts as finished: its recorder has written the manifest by then.
    static let settling = 2.0
    /// Age in seconds from which a file without a recorder counts as finished.
    static let abandonment = 3600.0

    package init(place: RecordingPlace, thumbnails: RecordingThumbnails? = nil) {
        self.place = place
        self.thumbnails = thumbnails
    }

    package func directories() -> [String] { Self.directories(of: place) }

    static func directories(of place: RecordingPlace) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: place.directory)) ?? []).map {
            "\(place.directory)/\($0)"
        }
    }

    package func look(
        in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool
    ) -> UploadFinding {
        var finding = UploadFinding()
        let room = String(directory.split(separator: "/").last ?? "")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        where FileName.isRecording(name) {
            let path = "\(directory)/\(name)"
            guard let version = FileVersion(path) else { continue }
            let notes = RecordingShelf.notes(path)
            guard !isSettled(notes, version.text) else { continue }
            guard Self.isFinished(path, age: now - version.modified) else {
                finding.isOpen = true
                continue
            }
            finding.items.append(
                UploadItem(kind: kind, room: room, file: name, path: path, version: version.text, notes: notes))
        }
        // The oldest first: names begin with the time.
        finding.items.sort { $0.file < $1.file }
        return finding
    }

    private static func isFinished(_ path: String, age: Double) -> Bool {
        let isClosed = RecordingShelf.manifest(of: path).map { $0.state != .recording } ?? false
        // The lock is tried last: a recorder that is about to start must not find it taken.
        return age > (isClosed ? settling : abandonment) && !RecordingShelf.isBeingWritten(path)
    }

    package func version(of item: UploadItem) -> String? { FileVersion(item.path)?.text }

    package func open(_ item: UploadItem) -> (any UploadReader)? { OpenFile(item.path) }

    /// Removes the file unless a recorder has it locked, because a recorder may want to continue it. Its manifest
    /// stays, so that its name is not given to another part.
    package func remove(_ item: UploadItem) -> Bool {
        guard thumbnails?.isDue(item.path, item.version) != true else { return false }
        let descriptor = Foundation.open(item.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, FileVersion(item.path)?.text == item.version else {
            return false
        }
        return unlink(item.path) == 0
    }
}
