import Foundation
import MediaFormats

/// The marks of an HLS session: `marks.json` beside its playlists, a file that packagers do not use. The functions
/// access the disk and may block.
package enum HLSMarks {
    static let name = "marks.json"
    /// Maximum size of the file, in bytes. Even with the maximum number of texts, the file is smaller.
    private static let mostBytes = 4 << 20

    /// Returns the marks of a session; empty if there is no readable file.
    static func read(_ directory: String) -> PlaylistMarks {
        guard let bytes = try? BoundedFile.read("\(directory)/\(name)", limit: mostBytes, followsLinks: false) else {
            return PlaylistMarks()
        }
        return (try? JSONDecoder().decode(PlaylistMarks.self, from: Data(bytes))) ?? PlaylistMarks()
    }

    /// Changes the marks of a session. If two changes overlap, one may be lost.
    ///
    /// - Throws: `OrchestratorError` if they cannot be stored.
    ///
    /// - Returns: The result of `body`.
    package static func change<Value>(
        _ directory: String, _ body: (inout PlaylistMarks) -> Value
    ) throws(OrchestratorError) -> Value {
        var marks = read(directory)
        let value = body(&marks)
        let file = "\(directory)/\(name)"
        let new = file + ".new"
        unlink(new)
        guard let data = try? JSONEncoder().encode(marks),
            (try? BoundedFile.write(Array(data), to: new, mode: 0o600)) != nil, rename(new, file) == 0
        else {
            unlink(new)
            throw OrchestratorError(
                .unavailable, "marks-not-stored", "The playlists cannot be changed at the moment",
                detail: "\(file) cannot be written: look at the disk", retryAfter: 5)
        }
        return value
    }
}

extension HLSFiles {
    /// Returns a session's playlist with its marks applied.
    package func marked(_ text: String, _ item: Item) async -> String {
        let directory = String(item.path.dropLast(item.name.utf8.count + 1))
        let marks = await offPool { HLSMarks.read(directory) }
        return marks.applied(to: text, isComplete: Self.isComplete(item.name))
    }

    /// Returns whether a playlist lists all kept segments.
    static func isComplete(_ name: String) -> Bool { name.hasSuffix("-event.m3u8") || name.hasSuffix("-vod.m3u8") }
}
