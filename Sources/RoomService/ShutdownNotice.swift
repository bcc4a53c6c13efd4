import Logging
import ServiceLifecycle
import Synchronization

/// Reports from the first moment that a shutdown has begun. It is last in its service group, because a group shuts down
/// from its end.
package final class ShutdownNotice: Service {
    private let began = Mutex(false)
    private let preparation = Mutex<(@Sendable () async -> Void)?>(nil)
    private let logger: Logger

    package init(logger: Logger = Logger(label: "mixorchestrator")) { self.logger = logger }

    /// Sets the work to be done before a shutdown begins.
    package func onPrepare(_ body: @escaping @Sendable () async -> Void) { preparation.withLock { $0 = body } }

    /// Does the work set by `onPrepare`. The caller begins the shutdown when this returns.
    package func prepare() async {
        guard let body = preparation.withLock({ $0 }) else { return }
        await body()
    }

    var hasBegun: Bool { began.withLock { $0 } }

    package func run() async throws {
        try? await gracefulShutdown()
        began.withLock { $0 = true }
        logger.notice("shutting down")
    }
}
