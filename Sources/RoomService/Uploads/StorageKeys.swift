import Foundation
import ObjectStorage
import Synchronization

/// The keys of a storage: those of the configuration, or those of a file that is read again when it changes, as
/// temporary keys require. Thread-safe.
package final class StorageKeys: Sendable {
    private struct State {
        var credentials: StorageCredentials
        /// State of the file from which the keys were read.
        var version: String?
    }

    private let path: String?
    private let state: Mutex<State>

    private static let mostBytes = 64 << 10

    package init(_ credentials: StorageCredentials) {
        path = nil
        state = Mutex(State(credentials: credentials))
    }

    /// - Returns: `nil` if the file cannot be read or contains no keys.
    package init?(file path: String) {
        let version = Self.version(path)
        guard let credentials = Self.read(path) else { return nil }
        self.path = path
        state = Mutex(State(credentials: credentials, version: version))
    }

    /// The current keys. Checks the file, if there is one: call it on a thread that may block. Keys are kept while the
    /// file is missing or contains none.
    package var current: StorageCredentials {
        guard let path else { return state.withLock { $0.credentials } }
        let version = Self.version(path)
        return state.withLock { state in
            guard version != state.version else { return state.credentials }
            // A half-written file is read again when it changes next.
            state.version = version
            if let new = Self.read(path) { state.credentials = new }
            return state.credentials
        }
    }

    private static func read(_ path: String) -> StorageCredentials? {
        (try? BoundedFile.read(path, limit: mostBytes)).flatMap {
            StorageCredentials(file: String(decoding: $0, as: UTF8.self))
        }
    }

    /// Returns the identity of the file's content. Links are followed, because mounted secrets are links.
    private static func version(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return "\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)"
    }
}

extension StorageKeys: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}
