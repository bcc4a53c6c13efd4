import Foundation
import MixModel

/// What a later run of the service has to know of a page.
struct PageRecord: Hashable, Codable, Sendable {
    /// Text of the `IngestStreamKey`.
    var stream: String
    var job: PageJob
}

/// The files of pages: `pages/` in the data directory. The name of a page's files is its identifier.
package struct PageFiles: Sendable {
    package let directory: String
    private static let longestRecord = 256 << 10

    /// Whether an earlier run has left files.
    static func exist(in data: String) -> Bool { FileManager.default.fileExists(atPath: data + "/pages") }

    /// - Throws: `StartupError` if the directory cannot be made, or its path is too long for sockets.
    package init(data: String) throws(StartupError) {
        directory = data + "/pages"
        // A slash, 32 digits and `.sock`.
        let longest = RelaySockets.longestPath - 38
        guard directory.utf8.count <= longest else {
            throw StartupError(
                "the data directory's path is too long for sockets: \(directory) has \(directory.utf8.count) bytes, "
                    + "at most \(longest) are possible. Choose a shorter one with --data")
        }
        do {
            // URLs and tokens of pages are in it.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    var log: String { directory + "/pages.log" }

    func socket(_ id: String) -> String { "\(directory)/\(id).sock" }

    private func path(_ id: String) -> String { "\(directory)/\(id).json" }

    /// Writes a record, to the disk: a page that is acknowledged is opened again after a crash.
    func write(_ record: PageRecord, of id: String) throws {
        let file = path(id)
        let new = file + ".new"
        let bytes = try JSONEncoder().encode(record)
        guard
            FileManager.default.createFile(atPath: new, contents: bytes, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forUpdatingAtPath: new)
        else { throw CocoaError(.fileWriteUnknown) }
        try handle.synchronize()
        try handle.close()
        guard rename(new, file) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Removes the record, so that no later run opens the page.
    func forget(_ id: String) { unlink(path(id)) }

    func remove(_ id: String) {
        unlink(socket(id))
        unlink(path(id))
    }

    /// Returns the pages that an earlier run has left; `nil` for a record that cannot be read.
    func found() -> [(id: String, record: PageRecord?)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let ids = names.compactMap { name in name.hasSuffix(".json") ? String(name.dropLast(5)) : nil }
            .filter(WebRTCFiles.isID)
        return ids.sorted().map { id in
            let bytes = try? BoundedFile.read(path(id), limit: Self.longestRecord)
            return (id, bytes.flatMap { try? JSONDecoder().decode(PageRecord.self, from: Data($0)) })
        }
    }
}
