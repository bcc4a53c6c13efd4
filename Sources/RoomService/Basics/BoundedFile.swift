import Foundation

/// Reads and writes whole files that others may have made: regular files only, up to a size limit, and synced to disk.
package enum BoundedFile {
    package enum Failure: Error, CustomStringConvertible {
        case notThere
        case notRegular
        case tooLong(limit: Int)
        /// A system call failed with this `errno`.
        case system(Int32)

        package var description: String {
            switch self {
            case .notThere: "does not exist"
            case .notRegular: "is not a regular file"
            case .tooLong(let limit): "has more than \(limit) bytes, which is the limit"
            case .system(let code): "cannot be read: \(String(cString: strerror(code)))"
            }
        }
    }

    package static func read(_ path: String, limit: Int, followsLinks: Bool = true) throws(Failure) -> [UInt8] {
        // Without O_NONBLOCK, opening a pipe would wait for its writer.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = open(path, flags)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw .notThere }
            throw errno == ELOOP ? .notRegular : .system(errno)
        }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw .system(errno) }
        guard info.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        guard info.st_size <= limit else { throw .tooLong(limit: limit) }
        // One byte more than expected, because the file may have grown. Not the whole limit: it is often a thousand times
        // the size of the file, and filling memory takes longer than reading.
        var bytes = [UInt8](repeating: 0, count: min(max(Int(info.st_size), 4096), limit) + 1)
        var count = 0
        while true {
            let got = bytes[count...].withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
            if got == 0 { break }
            guard got > 0 else {
                if errno == EINTR { continue }
                throw .system(errno)
            }
            count += got
            guard count <= limit else { throw .tooLong(limit: limit) }
            if count == bytes.count { bytes += [UInt8](repeating: 0, count: min(count, limit - count) + 1) }
        }
        return Array(bytes[..<count])
    }

    /// Creates a file, which must not exist yet, and returns when it is on disk.
    package static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let wrote = bytes[done...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard wrote > 0 else {
                if wrote < 0, errno == EINTR { continue }
                throw .system(errno)
            }
            done += wrote
        }
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else { throw .system(errno) }
    }
}
