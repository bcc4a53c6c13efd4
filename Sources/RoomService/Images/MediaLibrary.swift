import EventSubscription
import Foundation
import MixModel
import Synchronization

/// The local files of idle media: those in the media directory, and copies of those given by URL. Thread-safe.
package final class MediaLibrary: Sendable {
    /// Directory of operators' files, absolute; `nil` = files cannot be played.
    package let directory: String?
    /// Directory of copies, absolute.
    let downloads: String
    private let copies = Mutex<[String: String]>([:])

    /// - Parameter data: The data directory.
    package init(directory: String?, data: String) {
        self.directory = directory
        downloads = Self.downloads(in: data)
    }

    /// Directory of the copies below a data directory.
    package static func downloads(in data: String) -> String { data + "/media" }

    /// Returns whether the text can be the name of a file: a relative path without `..`.
    package static func isName(_ text: String) -> Bool { ContainedPath.isRelative(text) }

    /// Returns the paths of media, by reference. A URL without a copy is left out. Whether a file exists is checked and
    /// reported when it is played.
    func paths(of media: [String]) -> [String: String] {
        let copies = copies.withLock { $0 }
        var paths: [String: String] = [:]
        for reference in media {
            if IdleSettings.isURL(reference) {
                paths[reference] = copies[reference].map { "\(downloads)/\($0)" }
            } else if let directory, ContainedPath.isRelative(reference) {
                paths[reference] = "\(directory)/\(reference)"
            }
        }
        return paths
    }

    /// Replaces the copies: file names by URL.
    func setCopies(_ copies: [String: String]) { self.copies.withLock { $0 = copies } }

    /// Checks that the files of new settings can be played, as far as this can be determined without decoding them.
    ///
    /// - Throws: `OrchestratorError` that names the first file that cannot be played.
    package func check(_ settings: IdleSettings?) async throws(OrchestratorError) {
        let files = settings?.media.enumerated().filter { !IdleSettings.isURL($0.element) } ?? []
        guard !files.isEmpty else { return }
        guard let directory else {
            throw Self.refusal(
                files[0].offset, files[0].element, "a URL, or media.directory in the service's configuration")
        }
        let found = await offPool { files.first { _, name in !Self.isFile(name, in: directory) } }
        if let found {
            throw Self.refusal(
                found.offset, found.element,
                "a regular file below media.directory (\(directory)) that the service can read, not a link out of it")
        }
    }

    private static func refusal(_ index: Int, _ name: String, _ expected: String) -> OrchestratorError {
        OrchestratorError(
            InputError(
                .invalidField, field: "idle.media[\(index)]", found: JSONValue.string(name).summary, expected: expected)
        )
    }

    private static func isFile(_ name: String, in directory: String) -> Bool {
        guard let path = try? ContainedPath.resolve(name, in: directory) else { return false }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, R_OK) == 0
    }
}
