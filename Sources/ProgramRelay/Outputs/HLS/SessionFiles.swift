import Foundation
import MixModel

/// The directory of a session. A written file appears completely or not at all.
struct SessionFiles: Sendable {
    /// Absolute path.
    let directory: String

    /// A failure to write a file, with a description for operators.
    struct Failure: Error, Hashable {
        let state: ServiceState.Failure

        init(_ code: String, _ message: String) { state = ServiceState.Failure(code: code, message: message) }

        /// Creates a failure from an error number of the system.
        /// - Parameter path: The file or directory that could not be written.
        init(errno error: Int32, path: String) {
            let reason = String(cString: strerror(error))
            switch error {
            case ENOSPC, EDQUOT:
                self.init(
                    "disk_full",
                    "\(path): \(reason): free disk space or set hls.directory to another disk; it resumes by itself")
            case EROFS, EACCES, EPERM:
                self.init("directory_not_writable", "\(path): \(reason): the service's user must own hls.directory")
            default:
                self.init("directory_unavailable", "\(path): \(reason)")
            }
        }
    }

    /// Creates the directory and those above it, for the service's user alone.
    func create() throws(Failure) {
        var path = ""
        for part in directory.split(separator: "/") {
            path += "/\(part)"
            if mkdir(path, 0o700) != 0, errno != EEXIST, errno != EROFS || access(path, F_OK) != 0 {
                throw Failure(errno: errno, path: path)
            }
        }
    }

    /// Writes a file completely or not at all. A directory that was removed is created again.
    func write(_ bytes: [UInt8], to name: String) throws(Failure) {
        do {
            try writeOnce(bytes, to: name)
        } catch  where access(directory, F_OK) != 0 {
            try create()
            try writeOnce(bytes, to: name)
        }
    }

    func write(_ text: String, to name: String) throws(Failure) { try write(Array(text.utf8), to: name) }

    private func writeOnce(_ bytes: [UInt8], to name: String) throws(Failure) {
        let path = "\(directory)/\(name)"
        let temporary = "\(path).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: errno, path: path) }
        let error = Self.write(bytes, to: descriptor)
        // Some file systems report only when a file is closed that they are full.
        let closed = close(descriptor) == 0 ? 0 : errno
        guard error == 0, closed == 0, rename(temporary, path) == 0 else {
            let reason = error != 0 ? error : closed != 0 ? closed : errno
            unlink(temporary)
            throw Failure(errno: reason, path: path)
        }
    }

    /// Appends a line to a file that only grows, completely or not at all. A last line that was truncated, as by a power
    /// failure, stays a line of its own.
    func append(_ line: [UInt8], to name: String) throws(Failure) {
        let path = "\(directory)/\(name)"
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: errno, path: path) }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        var last: UInt8 = 0x0A
        if size > 0 { _ = pread(descriptor, &last, 1, size - 1) }
        let start: [UInt8] = last == 0x0A ? [] : [0x0A]
        let error = Self.write(start + line + [0x0A], to: descriptor)
        if error != 0, size >= 0 { _ = ftruncate(descriptor, size) }
        if error != 0 { throw Failure(errno: error, path: path) }
    }

    /// Writes all bytes.
    /// - Returns: The error number; 0 on success.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var position = 0
        while position < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress?.advanced(by: position), $0.count - position)
            }
            if count > 0 { position += count } else if errno != EINTR { return errno }
        }
        return 0
    }

    func read(_ name: String) -> Data? { FileManager.default.contents(atPath: "\(directory)/\(name)") }

    func remove(_ name: String) { unlink("\(directory)/\(name)") }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] }
}
