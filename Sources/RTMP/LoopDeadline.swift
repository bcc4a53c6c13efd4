/// A deadline on the socket loop.
///
/// `@unchecked Sendable`: all state belongs to the loop. Every method may be called from any thread.
package final class LoopDeadline: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private var watch: SocketLoop.Watch?
    private var isOver = false

    package init() {}

    /// Begins without a deadline.
    ///
    /// - Parameter onDeadline: Called on the loop once for every deadline that is reached, until `end()`. Retained
    ///   until then.
    package func begin(_ onDeadline: @escaping @Sendable () -> Void) {
        loop.run { [self] in
            guard watch == nil, !isOver else { return }
            let watch = SocketLoop.Watch(onReady: {}, onDeadline: onDeadline)
            self.watch = watch
            loop.add(watch)
        }
    }

    /// Sets the deadline, in ns of CLOCK_MONOTONIC, in place of any other; `.max` means none. Costs nothing on the
    /// loop.
    package func set(_ time: Int64) {
        // On the loop without a closure, because every packet postpones a deadline.
        if loop.isCurrent { watch?.deadline = time } else { loop.perform { [self] in watch?.deadline = time } }
    }

    package func end() {
        loop.run { [self] in
            isOver = true
            if let watch { loop.remove(watch) }
            watch = nil
        }
    }
}
