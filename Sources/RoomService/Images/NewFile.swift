import Foundation

/// A file that is being written, readable only by the service's user. Calls block.
final class NewFile: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws(FileRefusal) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.refusal }
    }

    deinit { close(descriptor) }

    func write(_ bytes: some Collection<UInt8>) throws(FileRefusal) {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.refusal }
            written += count
        }
    }

    private static var refusal: FileRefusal { FileRefusal("cannot be stored: \(String(cString: strerror(errno)))") }
}
