import Foundation

/// A port of 127.0.0.1 that is reserved for a test's server, which may start later, end and start again.
///
/// Connections are refused while no server listens. The system does not give the port to any other process meanwhile,
/// neither as a free port nor for an outgoing connection. The server must set `SO_REUSEADDR`, as servers do.
/// Thread-safe.
public final class ReservedPort: Sendable {
    public let number: Int
    // The socket is bound but never listens: the kernel then allows a listener with the same option beside it.
    private let descriptor: Int32

    public init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        number = LoopbackListener.bindPort(descriptor)
        guard number > 0 else {
            let failure = SocketFailure("no port to keep")
            close(descriptor)
            throw failure
        }
    }

    deinit { close(descriptor) }
}
