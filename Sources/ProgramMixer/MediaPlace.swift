import Foundation
import TextFormats

/// The directories from which files may be played. Its methods block.
public struct MediaPlace: Sendable {
    /// A file that cannot be opened, with the reason and the cure for operators.
    public struct Refusal: Error, CustomStringConvertible {
        public var description: String

        public init(description: String) { self.description = description }
    }

    public var directories: [String]

    public init(directories: [String]) { self.directories = directories }

    /// Opens a file and returns its descriptor, which the caller must close.
    ///
    /// Checks the opened file, not the path, so that a link that changes in the meantime has no effect.
    public func open(_ path: String) throws(Refusal) -> Int32 {
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw Refusal(
                description: errno == ENOENT
                    ? "does not exist: put it there, or take its name out"
                    : "cannot be opened: \(String(cString: strerror(errno))); let the service's user read it")
        }
        do throws(Refusal) {
            try check(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private func check(_ descriptor: Int32) throws(Refusal) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Refusal(description: "is not a regular file")
        }
        let opened = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        let isInside = directories.contains { directory in
            guard let root = realpath(directory, nil) else { return false }
            defer { free(root) }
            return opened?.startsInUTF8(with: String(cString: root) + "/") ?? false
        }
        guard isInside else { throw Refusal(description: "leads outside media.directory: put the file itself there") }
    }
}
