import Foundation
import MixModel
import TextFormats

/// The files of the ingest: `ingest/` in the data directory.
package struct IngestFiles: Sendable {
    package let directory: String
    /// Maximum size of a journal that is read, in bytes.
    private static let longestJournal = 4 << 20

    /// Returns whether an earlier run has left files.
    static func exist(in data: String) -> Bool { FileManager.default.fileExists(atPath: data + "/ingest") }

    /// - Throws: `StartupError` if the directory cannot be created.
    package init(data: String) throws(StartupError) {
        directory = data + "/ingest"
        do {
            // It contains the streams' names and the secret.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    var socket: String { directory + "/ingest.sock" }
    var log: String { directory + "/ingest.log" }

    /// Returns the key of the relays' codes. It stays the same, because URLs in the store contain codes.
    package func secret() throws(StartupError) -> String {
        let path = directory + "/secret"
        if let bytes = try? BoundedFile.read(path, limit: 1024), bytes.count == 64 {
            return String(decoding: bytes, as: UTF8.self)
        }
        var random = SystemRandomNumberGenerator()
        let secret = Hexadecimal.text((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(secret.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw StartupError("cannot write \(path)") }
        return secret
    }

    private var journalPath: String { directory + "/streams.json" }

    /// Returns the streams that an earlier run has put into rooms; empty if the file is missing or damaged.
    ///
    /// Streams that were written with another place have no session: their URLs contain that place, so they are put
    /// into their rooms again as soon as the ingest lists them.
    func journal(at place: String) -> [IngestStreamKey: String] {
        entries.mapValues { words in
            // Earlier releases wrote only the session.
            words.count < 2 || words[1].utf8.elementsEqual(place.utf8) ? words[0] : ""
        }
    }

    /// Streams from an earlier run that carry the program of a room, with that room.
    var origins: [IngestStreamKey: RoomID] {
        entries.compactMapValues { words in
            words.count > 2 ? words[2].removingPercentEncoding.map { RoomID($0) } : nil
        }
    }

    /// The words of each entry, at least one: its session, the place from which relays pull the stream, and the room
    /// whose program it is.
    private var entries: [IngestStreamKey: [String]] {
        guard let bytes = try? BoundedFile.read(journalPath, limit: Self.longestJournal),
            let entries = try? JSONDecoder().decode([String: String].self, from: Data(bytes))
        else { return [:] }
        return entries.reduce(into: [:]) { found, entry in
            guard let key = IngestStreamKey(entry.key) else { return }
            found[key] = entry.value.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// - Parameters:
    ///   - origins: The rooms whose programs the streams are.
    ///   - place: The place from which relays pull the streams, without spaces.
    func write(
        _ journal: [IngestStreamKey: String], origins: [IngestStreamKey: RoomID], at place: String
    ) throws {
        let entries = journal.map { key, session in
            let origin = origins[key].map { " \(PercentEncoding.encoded($0.rawValue))" }
            return (key.text, "\(session) \(place)\(origin ?? "")")
        }
        try JSONEncoder().encode(Dictionary(entries) { $1 }).write(
            to: URL(fileURLWithPath: journalPath), options: .atomic)
    }
}
