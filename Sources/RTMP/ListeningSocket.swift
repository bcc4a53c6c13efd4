import ChildProcesses
import EncodedMedia
import Foundation

/// A listening socket on the socket loop. It accepts connections as long as the process has descriptors to spare.
///
/// While fewer than its reserve are left, and after a connection that could not be accepted, connections wait in the
/// kernel: the loop checks the socket again only after a pause.
///
/// `@unchecked Sendable`: all state that changes belongs to the loop.
final class ListeningSocket: @unchecked Sendable {
    /// Pause in ns before the next check for free descriptors.
    private static let pause: Int64 = 100_000_000
    /// Maximum number of connections accepted in one turn of the loop, so that a flood of them does not delay the other
    /// sockets.
    private static let mostAtOnce = 16

    private let loop = SocketLoop.shared
    private let descriptor: Int32
    private let reserve: DescriptorReserve
    private let onAccept: @Sendable (Int32, SocketAddress) -> Void
    private var watch: SocketLoop.Watch?

    /// Begins to accept.
    ///
    /// - Parameters:
    ///   - descriptor: A non-blocking listening socket, which this object then owns.
    ///   - reserve: Descriptors that connections must leave to the process.
    ///   - onAccept: Called on the loop with the non-blocking descriptor of each new connection, which it then owns,
    ///     and the address of the peer.
    init(
        _ descriptor: Int32, reserve: DescriptorReserve,
        onAccept: @escaping @Sendable (Int32, SocketAddress) -> Void
    ) {
        self.descriptor = descriptor
        self.reserve = reserve
        self.onAccept = onAccept
        loop.run { [self] in
            let watch = SocketLoop.Watch(onReady: { self.accept() }, onDeadline: { self.watch?.events = POLLIN })
            watch.descriptor = descriptor
            watch.events = POLLIN
            self.watch = watch
            loop.add(watch)
        }
    }

    /// Closes the socket.
    func close() {
        loop.run { [self] in
            guard let watch else { return }
            loop.remove(watch)
            self.watch = nil
            Foundation.close(descriptor)
        }
    }

    private func accept() {
        for _ in 0..<Self.mostAtOnce {
            // `onAccept` may have closed the listener.
            guard watch != nil else { return }
            guard !reserve.isReached else { return rest() }
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let connection = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.accept(descriptor, $0, &length) }
            }
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno != EAGAIN { rest() }
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            _ = fcntl(connection, F_SETFL, O_NONBLOCK)
            onAccept(connection, SocketAddress(storage: storage, length: length))
        }
    }

    private func rest() {
        watch?.events = 0
        watch?.deadline = MonotonicClock.now() + Self.pause
    }
}
