import Crypto
import Foundation
import MixModel
import Synchronization
import TextFormats

/// The sockets at which relays listen: `relays/` in the data directory. Thread-safe.
package final class RelaySockets: Sendable {
    let directory: String
    /// Paths of relays that still listen where an earlier version of this program put their sockets.
    private let former = Mutex<[TaskID: String]>([:])

    /// Longest path that fits in `sockaddr_un`, in bytes.
    static let longestPath = 107
    /// Longest path that contains the task's id, in bytes.
    private static let longestPlainPath = 100

    /// - Throws: `StartupError` when the directory's path leaves no room for a name.
    package init(directory: String) throws(StartupError) {
        // A slash, `_`, 22 letters and `.sock`.
        let longest = Self.longestPath - 29
        guard directory.utf8.count <= longest else {
            throw StartupError(
                "the data directory's path is too long for sockets: \(directory) has \(directory.utf8.count) bytes, "
                    + "at most \(longest) are possible. Choose a shorter one with --data")
        }
        self.directory = directory
    }

    /// Returns the task's own path, at most `longestPath` bytes. It contains the task's identifier if that is a plain
    /// short word, and a hash of it otherwise.
    func path(of task: TaskID) -> String {
        if let path = plainPath(of: task) ?? former.withLock({ $0[task] }) { return path }
        return "\(directory)/_\(Self.digest(task)).sock"
    }

    /// Returns 128 bits of SHA-256, so that no identifier can be crafted that leads to another task's socket. `_`
    /// distinguishes such names from plain identifiers.
    private static func digest(_ task: TaskID) -> String {
        Data(SHA256.hash(data: Array(task.rawValue.utf8)).prefix(16)).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private func plainPath(of task: TaskID) -> String? {
        let id = task.rawValue
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        let plain = "\(directory)/\(id).sock"
        return isPlain && plain.utf8.count <= Self.longestPlainPath ? plain : nil
    }

    // MARK: Earlier versions

    /// Returns the path that an earlier version used for the task's relay, if there is a file and none at the new path.
    /// The name has 64 bits of FNV-1a, for which an identifier could be crafted that collides.
    func formerPath(of task: TaskID) -> String? {
        guard plainPath(of: task) == nil else { return nil }
        let path = "\(directory)/_\(String(FNV1a.hash(of: task.rawValue.utf8), radix: 36)).sock"
        return access(path, F_OK) == 0 && access(self.path(of: task), F_OK) != 0 ? path : nil
    }

    /// Lets the task keep the path of its running relay, until the service starts without that relay.
    func keep(_ path: String, of task: TaskID) { former.withLock { $0[task] = path } }
}
