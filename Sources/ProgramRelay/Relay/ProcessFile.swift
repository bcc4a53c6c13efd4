import Foundation

/// The file next to a relay's socket that names the process of a relay in a shared process. With it, the service can
/// end a process that hangs before it starts a successor.
struct ProcessFile: Sendable {
    let path: String

    /// Writes the number of this process. After a failure, the relay only lacks this protection.
    ///
    /// Foundation would wait until the disk has the number. The socket loop, from which other programs of the process
    /// are sent, must not, and a machine that restarts has no such process.
    func write() {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array("\(getpid())\n".utf8)
        _ = Foundation.write(descriptor, bytes, bytes.count)
    }

    func remove() { unlink(path) }
}
