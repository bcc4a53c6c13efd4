/// The files of publishers and viewers over WebRTC: `webrtc/` in the data directory. A worker that plays has only a
/// socket, `play-{id}.sock`.
package typealias WebRTCFiles = WorkerFiles<WebRTCRecord>

extension WebRTCFiles {
    private static let folder = "webrtc"
    private static let playing = "play-"

    /// Returns whether an earlier run has left files.
    static func exist(in data: String) -> Bool { exist(in: data, name: folder) }

    /// - Throws: `StartupError` if the directory cannot be created, or its path is too long for sockets.
    package init(data: String) throws(StartupError) {
        try self.init(data: data, name: Self.folder, longestRecord: 16 << 10)
    }

    /// Returns the socket of a worker that plays a stream.
    func playSocket(_ id: String) -> String { "\(directory)/\(Self.playing)\(id).sock" }

    /// Returns a new identifier for such a worker.
    static func newPlayID() -> String { String(WorkerID.make().prefix(16)) }

    /// Returns the playing workers that were left by an earlier run.
    func foundPlayers() -> [String] {
        names().compactMap { name in
            guard name.hasPrefix(Self.playing), name.hasSuffix(".sock") else { return nil }
            let id = String(name.dropFirst(Self.playing.count).dropLast(5))
            return id.utf8.count == 16 && WorkerID.hasOnlyDigits(id) ? id : nil
        }.sorted()
    }
}

/// The record of a session for a later run of the service.
package struct WebRTCRecord: Hashable, Codable, Sendable {
    /// The text of its `IngestStreamKey`.
    var stream: String
    var address: String
    var needsToken: Bool
    /// Number of the session's ICE, and the client's name in it.
    var generation: Int
    var iceName: String
}
