import Foundation
import TextFormats

/// Sockets and records of workers that serve one stream each, in a folder of the data directory. The name of a worker's
/// files is its identifier.
package struct WorkerFiles<Record: Codable & Sendable>: Sendable {
    package let directory: String
    private let name: String
    private let longestRecord: Int

    /// - Parameters:
    ///   - name: Name of the folder, and of the log in it.
    ///   - longestRecord: Maximum length of a record in bytes; a longer one cannot be read.
    /// - Throws: `StartupError` if the directory cannot be created, or its path is too long for sockets.
    init(data: String, name: String, longestRecord: Int) throws(StartupError) {
        directory = "\(data)/\(name)"
        self.name = name
        self.longestRecord = longestRecord
        // A slash, 32 digits and `.sock`.
        let longest = RelaySockets.longestPath - 38
        guard directory.utf8.count <= longest else {
            throw StartupError(
                "the data directory's path is too long for sockets: \(directory) has \(directory.utf8.count) bytes, "
                    + "at most \(longest) are possible. Choose a shorter one with --data")
        }
        do {
            // It contains the names of publishers, and URLs with tokens.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    /// Returns whether an earlier run has left such a folder.
    static func exist(in data: String, name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(data)/\(name)")
    }

    var log: String { "\(directory)/\(name).log" }

    func socket(_ id: String) -> String { "\(directory)/\(id).sock" }

    private func path(_ id: String) -> String { "\(directory)/\(id).json" }

    /// Writes the record that a later run of the service requires of a worker, and syncs it to disk.
    func write(_ record: Record, of id: String) throws {
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

    /// Removes the record, so that no later run takes the worker over.
    func forget(_ id: String) { unlink(path(id)) }

    func remove(_ id: String) {
        unlink(socket(id))
        unlink(path(id))
    }

    /// Returns the workers left by an earlier run; the record is `nil` if it is missing or cannot be read.
    func found() -> [(id: String, record: Record?)] {
        let ids = names().compactMap { name in name.splitAtFirst(".").map { String($0.head) } }.filter(WorkerID.isValid)
        return Set(ids).sorted().map { id in
            let bytes = try? BoundedFile.read(path(id), limit: longestRecord)
            return (id, bytes.flatMap { try? JSONDecoder().decode(Record.self, from: Data($0)) })
        }
    }

    /// Returns the names of all files in the folder.
    func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] }
}
