import Foundation

/// Notices in a worker that its relay is gone, even while the worker does not read its input.
package enum RelayLoss {
    /// Calls `body` once, on a thread of its own, when the other end of a socket was closed. A relay that only ends its
    /// writing is still there. Has no effect unless the descriptor is a socket, which must stay open.
    package static func watch(_ descriptor: Int32, _ body: @escaping @Sendable () -> Void) {
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 else { return }
        Thread.detachNewThread {
            // POLLHUP is always reported, and the end of the input is not asked for.
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            while poll(&entry, 1, -1) < 0 {
                guard errno == EINTR else { return }
            }
            body()
        }
    }
}
