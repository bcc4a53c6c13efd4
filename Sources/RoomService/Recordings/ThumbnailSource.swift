import Foundation
import MixModel

/// Pictures of recordings, for the upload.
package struct ThumbnailSource: UploadSource {
    private let place: RecordingPlace

    package let kind = UploadItem.Kind.thumbnail
    package let type = "image/jpeg"

    package init(place: RecordingPlace) { self.place = place }

    package func directories() -> [String] { RecordingSource.directories(of: place) }

    package func look(
        in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool
    ) -> UploadFinding {
        var finding = UploadFinding()
        let room = String(directory.split(separator: "/").last ?? "")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        where name.hasSuffix(".jpg") && FileName.isRecording("\(name.dropLast(4)).mp4") {
            let path = "\(directory)/\(name)"
            // The file is written as a whole, and never again.
            guard let version = FileVersion(path) else { continue }
            let notes = RecordingShelf.thumbnailNotes(path)
            guard !isSettled(notes, version.text) else { continue }
            finding.items.append(
                UploadItem(kind: kind, room: room, file: name, path: path, version: version.text, notes: notes))
        }
        finding.items.sort { $0.file < $1.file }
        return finding
    }

    package func version(of item: UploadItem) -> String? { FileVersion(item.path)?.text }

    package func open(_ item: UploadItem) -> (any UploadReader)? { OpenFile(item.path) }

    package func remove(_ item: UploadItem) -> Bool { version(of: item) == item.version && unlink(item.path) == 0 }
}
