import Foundation

/// The files of publishers and viewers over WebRTC: `webrtc/` in the data directory. The name of a publisher's files is the
/// session's identifier; a worker that plays has a socket only, `play-{id}.sock`.
package struct WebRTCFiles: Sendable {
    package let directory: String
    private static let longestRecord = 16 << 10

    /// Whether an earlier run has left files.
    static func exist(in data: String) -> Bool { FileManager.default.fileExists(atPath: data + "/webrtc") }

    /// - Throws: `StartupError` if the directory cannot be made, or its path is too long for sockets.
    package init(data: String) throws(StartupError) {
        directory = data + "/webrtc"
        // A slash, 32 digits and `.sock`.
        let longest = RelaySockets.longestPath - 38
        guard directory.utf8.count <= longest else {
            throw StartupError(
                "the data directory's path is too long for sockets: \(directory) has \(directory.utf8.count) bytes, "
                    + "at most \(longest) are possible. Choose a shorter one with --data")
        }
        do {
            // Who publishes is in it.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    /// Returns an identifier of 128 random bits.
    static func newID() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }

    static func isID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
    }

    var log: String { directory + "/webrtc.log" }

    func socket(_ id: String) -> String { "\(directory)/\(id).sock" }

    private static let playing = "play-"

    /// Returns the socket of a worker that plays a stream.
    func playSocket(_ id: String) -> String { "\(directory)/\(Self.playing)\(id).sock" }

    /// Returns an identifier for such a worker.
    static func newPlayID() -> String { String(newID().prefix(16)) }

    /// Returns the workers that play and were left by an earlier run.
    func foundPlayers() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { name in
            guard name.hasPrefix(Self.playing), name.hasSuffix(".sock") else { return nil }
            let id = String(name.dropFirst(Self.playing.count).dropLast(5))
            return id.utf8.count == 16 && id.utf8.allSatisfy(Self.isDigit) ? id : nil
        }.sorted()
    }

    private func path(_ id: String) -> String { "\(directory)/\(id).json" }

    /// Writes what a later run of the service has to know of a session.
    func write(_ record: WebRTCRecord, of id: String) throws {
        try JSONEncoder().encode(record).write(to: URL(fileURLWithPath: path(id)), options: .atomic)
    }

    func remove(_ id: String) {
        unlink(socket(id))
        unlink(path(id))
    }

    /// Returns the sessions that an earlier run has left; `nil` for a record that cannot be read.
    func found() -> [(id: String, record: WebRTCRecord?)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let ids = Set(names.compactMap { name in name.splitAtFirst(".").map { String($0.head) } }.filter(Self.isID))
        return ids.sorted().map { id in
            let bytes = try? BoundedFile.read(path(id), limit: Self.longestRecord)
            return (id, bytes.flatMap { try? JSONDecoder().decode(WebRTCRecord.self, from: Data($0)) })
        }
    }
}

/// What a later run of the service has to know of a session.
struct WebRTCRecord: Hashable, Codable, Sendable {
    /// Text of the `IngestStreamKey`.
    var stream: String
    var address: String
    var needsToken: Bool
    /// Number of the session's ICE, and the client's name in it.
    var generation: Int
    var iceName: String
}
