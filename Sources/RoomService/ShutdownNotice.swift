import Logging
import ServiceLifecycle
import Synchronization

/// Tells from the first moment that a shutdown has begun. Last in its service group, because a group shuts down from
/// its end.
package final class ShutdownNotice: Service {
    private let began = Mutex(false)
    private let logger: Logger

    package init(logger: Logger = Logger(label: "mixorchestrator")) { self.logger = logger }

    var hasBegun: Bool { began.withLock { $0 } }

    package func run() async throws {
        try? await gracefulShutdown()
        began.withLock { $0 = true }
        logger.notice("shutting down")
    }
}
