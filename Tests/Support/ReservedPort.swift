import Foundation

/// A port of 127.0.0.1 that is kept for a server of a test, which may begin later, end and begin again.
///
/// Whoever connects to it while no server listens is refused, and the system gives it to nobody else meanwhile: neither to one who
/// asks for a free port nor to a connection of any process. The server has to set `SO_REUSEADDR`, as servers do. Thread-safe.
public final class ReservedPort: Sendable {
    public let number: Int
    // Bound, and never listening: the kernel then allows a listener with the same option beside it.
    private let descriptor: Int32

    public init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        number = LoopbackListener.bindFreePort(descriptor)
        guard number > 0 else {
            let failure = SocketFailure("no port to keep")
            close(descriptor)
            throw failure
        }
    }

    deinit { close(descriptor) }
}
