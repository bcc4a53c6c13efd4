import Foundation
import MixModel

/// Archives of HLS sessions that have ended and keep their segments, for the upload.
package struct ArchiveSource: UploadSource {
    private let files: HLSFiles

    package let kind = UploadItem.Kind.archive
    package let type = "application/zip"

    /// Age in seconds at which a session counts as ended: its packager has written everything by then.
    static let settling = 2.0

    package init(files: HLSFiles) { self.files = files }

    package func directories() -> [String] {
        func children(_ path: String) -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).map { "\(path)/\($0)" }
        }
        return children(files.directory).flatMap(children).flatMap { room in
            HLSFiles.sessions(in: room).map { "\(room)/\($0)" }
        }
    }

    package func look(
        in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool
    ) -> UploadFinding {
        guard let facts = HLSFiles.facts(directory), facts.isEnded, facts.settings.enableVOD,
            let version = Self.version(of: directory)
        else { return UploadFinding() }
        let notes = Self.notes(directory)
        guard !isSettled(notes, version.text) else { return UploadFinding() }
        guard now - version.modified > Self.settling else { return UploadFinding(isOpen: true) }
        let parts = directory.split(separator: "/").suffix(3).map(String.init)
        guard parts.count == 3 else { return UploadFinding() }
        let item = UploadItem(
            kind: kind, room: Self.room(app: parts[0], name: parts[1]), file: "\(parts[2]).zip", path: directory,
            version: version.text, notes: notes)
        return UploadFinding(items: [item])
    }

    package func version(of item: UploadItem) -> String? { Self.version(of: item.path)?.text }

    package func open(_ item: UploadItem) -> (any UploadReader)? {
        HLSArchive.make(item.path).map { OpenArchive(archive: $0) }
    }

    package func remove(_ item: UploadItem) -> Bool {
        guard version(of: item) == item.version, unlink("\(item.path)/vod.m3u8") == 0 else { return false }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: item.path)) ?? []
        where HLSFiles.kind(of: name) != nil || ["segments.jsonl", HLSMarks.name].contains(name) {
            unlink("\(item.path)/\(name)")
        }
        return true
    }

    // MARK: Sessions

    /// Returns the notes of a session, which are removed with it.
    static func notes(_ directory: String) -> UploadNotes { UploadNotes(path: "\(directory)/upload") }

    private static func version(of directory: String) -> (text: String, modified: Double)? {
        guard let segments = FileVersion("\(directory)/segments.jsonl"),
            let master = FileVersion("\(directory)/vod.m3u8")
        else { return nil }
        return ("\(segments.text) \(master.text)", max(segments.modified, master.modified))
    }

    /// Returns the directory name used for recordings, from that used for HLS.
    private static func room(app: String, name: String) -> String {
        app == FileName.safe(AppID.standard.rawValue) ? name : "\(app)~2f\(name)"
    }
}

/// An archive opened for reading.
private struct OpenArchive: UploadReader {
    let archive: ZipArchive

    var bytes: Int64 { Int64(archive.length) }

    func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        let end = Int(range.upperBound)
        while let (part, slice) = archive.slice(at: Int(range.lowerBound) + bytes.count..<end) {
            switch part {
            case .bytes(let content): bytes += content[slice]
            case .file(let path, _):
                guard let file = OpenFile(path) else { throw UploadReadFailure("a segment is missing") }
                bytes += try file.read(Int64(slice.lowerBound)..<Int64(slice.upperBound))
            }
        }
        return bytes
    }
}
