import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// The services that feeds need; immutable and shared.
package struct PlaybackServices: Sendable {
    var sockets: RelaySockets
    package var viewers: ViewerLedger
    package var metrics: Metrics
    package var logger: Logger
    /// Latency cap, in ms of media.
    package var latencyCap: Int
    /// Whether a task is on air or on its way there.
    var isWanted: @Sendable (TaskID) async -> Bool

    package init(
        sockets: RelaySockets, viewers: ViewerLedger, metrics: Metrics, logger: Logger, latencyCap: Int,
        isWanted: @escaping @Sendable (TaskID) async -> Bool
    ) {
        self.sockets = sockets
        self.viewers = viewers
        self.metrics = metrics
        self.logger = logger
        self.latencyCap = latencyCap
        self.isWanted = isWanted
    }
}

/// The programs that are being watched. Owns the tasks that read them.
package final class Playback: Service {
    private let services: PlaybackServices
    private let feeds = Mutex<[TaskID: ProgramFeed]>([:])
    private let requests: AsyncStream<ProgramFeed>
    private let inbox: AsyncStream<ProgramFeed>.Continuation

    package init(_ services: PlaybackServices) {
        self.services = services
        (requests, inbox) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for await feed in requests.cancelOnGracefulShutdown() {
                group.addTask {
                    await feed.run()
                    self.feeds.withLock { if $0[feed.task] === feed { $0[feed.task] = nil } }
                }
            }
            group.cancelAll()
        }
    }

    /// Returns the feed of a task's program, and opens one when there is none.
    package func feed(of task: TaskID) -> ProgramFeed {
        feeds.withLock { feeds in
            if let feed = feeds[task], !feed.isOver { return feed }
            let feed = ProgramFeed(task, services: services)
            feeds[task] = feed
            inbox.yield(feed)
            return feed
        }
    }

    /// Reserves a place for a viewer.
    ///
    /// - Throws: `OrchestratorError` when there is none.
    package func enter(_ task: TaskID) throws(OrchestratorError) -> ViewerLedger.Place {
        do {
            return try services.viewers.enter(task)
        } catch {
            services.metrics.count(.viewersRefused)
            throw error
        }
    }
}
