import Foundation
import TestSupport

@testable import RTMP

/// A client of an RTMP server that sends the bytes of a test, and reads only when told to.
final class RawClient: Sendable {
    let descriptor: Int32
    let isConnected: Bool

    /// - Parameter address: Source address, in digits.
    init(port: Int, from address: String = "127.0.0.1", receiveBuffer: Int32? = nil) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_addr.s_addr = inet_addr(address)
        let descriptor = descriptor
        _ = withUnsafePointer(to: &own) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        isConnected = LoopbackListener.connect(descriptor, to: port)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends a handshake and asks to publish or to play.
    func begin(_ verb: String, _ name: String) {
        send(
            [3] + [UInt8](repeating: 0x11, count: 3072) + RTMPServerTests.command("connect", 1)
                + RTMPServerTests.command(verb, 0, [.null, .string(name)], stream: 1))
    }

    /// Reads and discards bytes until the server closes.
    ///
    /// - Parameter limit: Limit in seconds.
    func isClosed(within limit: Double) async -> Bool {
        let end = ContinuousClock.now + .seconds(limit)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while ContinuousClock.now < end {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return true }
            if count < 0 { try? await Task.sleep(for: .milliseconds(20)) }
        }
        return false
    }
}
