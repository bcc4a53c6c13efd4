import Foundation
import Synchronization

/// A thread that accepts the connections of a listener on loopback, from `start` to `stop`.
///
/// Only that thread closes the listener. If `stop` closed it, the thread could accept once more on its descriptor, whose
/// number another test's listener may have by then.
public final class LoopbackAcceptor: Sendable {
    private enum Stage { case idle, accepting, closed }

    public let listener: LoopbackListener
    private let stage = Mutex(Stage.idle)

    public var port: Int { listener.port }

    /// - Parameter listener: Belongs to the acceptor from now on, which closes it.
    public init(_ listener: LoopbackListener) { self.listener = listener }

    /// Starts to accept. Has no effect a second time, or after `stop`.
    ///
    /// - Parameter serve: Takes each connection, which it has to close. Called on the acceptor's thread.
    public func start(_ serve: @escaping @Sendable (Int32) -> Void) {
        let isFirst = stage.withLock { stage in
            guard stage == .idle else { return false }
            stage = .accepting
            return true
        }
        guard isFirst else { return }
        Thread.detachNewThread { [self] in
            while let connection = listener.accept() { serve(connection) }
            // Under the lock: `stop` does not shut down whichever socket gets the number next.
            stage.withLock { stage in
                close(listener.descriptor)
                stage = .closed
            }
        }
    }

    /// Refuses connections from now on. Has no effect a second time.
    public func stop() {
        stage.withLock { stage in
            guard stage != .closed else { return }
            // `accept` returns, now or when it is called next.
            shutdown(listener.descriptor, Int32(SHUT_RDWR))
            guard stage == .idle else { return }
            close(listener.descriptor)
            stage = .closed
        }
    }
}
