import Foundation
import MixModel
import Synchronization

/// A mixer's end of the socket to its relay. `send` may be called from any thread, `receive` from one.
final class MixerSocket: Sendable {
    private let descriptor: Int32
    private let isOpen = Mutex(true)

    init(descriptor: Int32) { self.descriptor = descriptor }

    var isSocket: Bool {
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
            && type == Int32(SOCK_STREAM.rawValue)
    }

    /// Sends one message whole. Waits while the relay does not read. Has no effect after an error, because `receive`
    /// then sees the end.
    func send(_ report: MixerReport) {
        guard let bytes = try? report.wireBytes() else { return }
        isOpen.withLock { isOpen in
            var sent = 0
            while isOpen, sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    write(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
                }
                if count > 0 {
                    sent += count
                } else if errno != EINTR {
                    isOpen = false
                }
            }
        }
    }

    /// Ends the connection in both directions.
    func close() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Passes on every message until the relay closes the socket.
    /// - Returns: The failure that ended the connection, in words; `nil` after an orderly end.
    func receive(_ handle: (MixerCommand) -> Void) -> String? {
        var reader = MessageReader<MixerCommand>()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return nil }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == ECONNRESET ? nil : "reading from the relay: \(String(cString: strerror(errno)))"
            }
            do {
                reader.push(buffer[..<count])
                while let command = try reader.next() {
                    if command == .stop { return nil }
                    handle(command)
                }
            } catch {
                return "from the relay: \(error)"
            }
        }
    }
}
