import Foundation
import MixModel
import TextFormats

/// The files of the ingest: `ingest/` in the data directory.
package struct IngestFiles: Sendable {
    package let directory: String
    /// Longest journal that is read, in bytes.
    private static let longestJournal = 4 << 20

    /// Whether an earlier run has left files.
    static func exist(in data: String) -> Bool { FileManager.default.fileExists(atPath: data + "/ingest") }

    /// - Throws: `StartupError` if the directory cannot be made.
    package init(data: String) throws(StartupError) {
        directory = data + "/ingest"
        do {
            // The streams' names and the secret are in it.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    var socket: String { directory + "/ingest.sock" }
    var log: String { directory + "/ingest.log" }

    /// Returns the key of the relays' codes, which stays the same because the URLs in the store contain them.
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

    /// Returns the streams that an earlier run has put into rooms; none if the file is missing or damaged.
    ///
    /// Streams that were written at another place have no session: their URLs name that place, and they are put into their
    /// rooms again as soon as the ingest names them.
    func journal(at place: String) -> [IngestStreamKey: String] {
        entries.mapValues { words in
            // Earlier releases wrote the session alone.
            words.count < 2 || words[1].utf8.elementsEqual(place.utf8) ? words[0] : ""
        }
    }

    /// Of the streams that an earlier run has put into rooms, those that are the program of a room, and which.
    var origins: [IngestStreamKey: RoomID] {
        entries.compactMapValues { words in
            words.count > 2 ? words[2].removingPercentEncoding.map { RoomID($0) } : nil
        }
    }

    /// The words of each entry, at least one: its session, where relays pull the stream, and the room whose program it is.
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
    ///   - origins: The room whose program a stream is.
    ///   - place: Where relays pull the streams, without spaces.
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
