import Foundation
import MediaFormats

/// Ends a session that keeps its segments in place of its packager, which was lost for good: the playlists that have
/// only grown become those on demand. Calls block.
enum AbandonedSession {
    /// Maximum size of a playlist that is read, in bytes: that of `HLSArchive`.
    private static let longest = 256 << 20
    /// Name of the file in a room's directory that its packager locks.
    static let lockName = "lock"

    /// - Parameters:
    ///   - name: Name of the session's directory.
    ///   - room: Directory of the room.
    /// - Returns: Whether it has been ended. It is not while a packager has the room's directory, or if a file cannot be
    ///   read or written: another attempt continues there.
    static func end(_ name: String, in room: String) -> Bool {
        let lock = open("\(room)/\(lockName)", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { return false }
        let session = "\(room)/\(name)"
        // It may have been ended before the lock was taken.
        guard let facts = HLSFiles.facts(session), !facts.isEnded,
            let master = text("\(session)/event.m3u8")
        else { return false }
        for line in master.split(separator: "\n") where !line.hasPrefix("#") {
            guard HLSFiles.kind(of: String(line)) == .playlist, line.hasSuffix(grown),
                endVariant(String(line.dropLast(grown.utf8.count)), session)
            else { return false }
        }
        let named = PlaylistText.mapping(master) { "\($0.dropLast(grown.utf8.count))\(kept)" }
        return write(named, "\(session)/vod.m3u8") && markEnded("\(session)/session.json")
    }

    /// Returns whether a packager has the room's directory.
    static func isBusy(_ room: String) -> Bool {
        let lock = open("\(room)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        return flock(lock, LOCK_EX | LOCK_NB) != 0
    }

    private static let grown = "-event.m3u8"
    private static let kept = "-vod.m3u8"

    /// Ends the playlists of one variant, and makes the one on demand.
    private static func endVariant(_ name: String, _ session: String) -> Bool {
        for file in ["\(name).m3u8", name + grown] {
            guard let text = text("\(session)/\(file)"), write(ended(text), "\(session)/\(file)") else { return false }
        }
        guard let complete = text("\(session)/\(name)\(grown)") else { return false }
        let kind = "#EXT-X-PLAYLIST-TYPE:"
        let onDemand = complete.replacing(
            "\(kind)\(MediaPlaylist.Kind.event.rawValue)\n", with: "\(kind)\(MediaPlaylist.Kind.onDemand.rawValue)\n",
            maxReplacements: 1)
        return write(onDemand, "\(session)/\(name)\(kept)")
    }

    private static func ended(_ playlist: String) -> String {
        playlist.hasSuffix(MediaPlaylist.end) ? playlist : playlist + MediaPlaylist.end
    }

    /// Marks a session as ended, and leaves everything else in its description.
    private static func markEnded(_ path: String) -> Bool {
        guard let data = FileManager.default.contents(atPath: path),
            var fields = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
        else { return false }
        fields["isEnded"] = true
        guard let new = try? JSONSerialization.data(withJSONObject: fields, options: [.withoutEscapingSlashes]) else {
            return false
        }
        return write(Array(new), path)
    }

    // MARK: Files

    private static func text(_ path: String) -> String? {
        (try? BoundedFile.read(path, limit: longest, followsLinks: false)).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func write(_ text: String, _ path: String) -> Bool { write(Array(text.utf8), path) }

    /// Replaces a file as a whole.
    private static func write(_ bytes: [UInt8], _ path: String) -> Bool {
        let new = path + ".new"
        unlink(new)
        guard (try? BoundedFile.write(bytes, to: new, mode: 0o600)) != nil, rename(new, path) == 0 else {
            unlink(new)
            return false
        }
        return true
    }
}
