import Foundation

/// The identity of a regular file's content, derived from its metadata.
package struct FileVersion: Hashable, Sendable {
    /// Size in bytes.
    package var bytes: Int64
    /// Time of modification in seconds since 1970.
    package var modified: Double
    /// A text that differs between any two states of the file.
    package var text: String

    /// - Returns: `nil` if there is no regular file. Links are not followed.
    package init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        bytes = Int64(status.st_size)
        modified = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
        text = "\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)"
    }
}

/// A file opened for reading.
package final class OpenFile: UploadReader {
    package let bytes: Int64
    private let descriptor: Int32

    /// - Returns: `nil` if there is no such file. Links are not followed.
    package init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            // `deinit` closes it, because all properties are set.
            bytes = 0
            return nil
        }
        bytes = Int64(status.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var count = 0
        while count < bytes.count {
            let got = bytes[count...].withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress, $0.count, off_t(range.lowerBound) + off_t(count))
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else {
                throw UploadReadFailure(got == 0 ? "it is shorter" : String(cString: strerror(errno)))
            }
            count += got
        }
        return bytes
    }
}
