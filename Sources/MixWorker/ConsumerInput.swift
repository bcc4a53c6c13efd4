import Foundation

/// The standard input of a consumer's process: one line of settings, then the program. Also carries reports back.
///
/// It is a socket. For experiments it may be a pipe or a file; reports then go to standard output.
final class ConsumerInput: Sendable {
    private let reports: Int32
    private let lock = NSLock()
    private static let mostSettings = 1 << 20

    init() {
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let isSocket = getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0
        reports = isSocket ? STDIN_FILENO : STDOUT_FILENO
    }

    /// Sends one line whole. Waits while the other end does not read, and has no effect once it is gone.
    func send(_ line: [UInt8]) {
        lock.withLock {
            var position = 0
            while position < line.count {
                let count = line.withUnsafeBytes {
                    write(reports, $0.baseAddress?.advanced(by: position), $0.count - position)
                }
                if count > 0 { position += count } else if errno != EINTR { return }
            }
        }
    }

    /// Returns the first line without its end; `nil` if there is none or if it is longer than 1 MiB.
    func readSettings() -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < Self.mostSettings {
            switch Foundation.read(STDIN_FILENO, &byte, 1) {
            case 1 where byte == 0x0A: return line
            case 1: line.append(byte)
            case 0: return nil
            default: if errno != EINTR { return nil }
            }
        }
        return nil
    }

    /// Returns the next bytes; `nil` at the end.
    func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = buffer.withUnsafeMutableBytes { Foundation.read(STDIN_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { return Array(buffer[..<count]) }
            if count == 0 || errno != EINTR { return nil }
        }
    }
}
