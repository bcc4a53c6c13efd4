import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// The services that broadcasts need; immutable and shared.
package struct PlaybackServices: Sendable {
    var sockets: RelaySockets
    package var viewers: ViewerCounts
    package var metrics: Metrics
    package var logger: Logger
    /// Latency cap, in ms of media.
    package var latencyCap: Int
    /// Whether a task is on air or about to be.
    var isWanted: @Sendable (TaskID) async -> Bool
    /// Access to programs that other nodes have; `nil` without a cluster.
    var elsewhere: (any ProgramsElsewhere)?

    package init(
        sockets: RelaySockets, viewers: ViewerCounts, metrics: Metrics, logger: Logger, latencyCap: Int,
        isWanted: @escaping @Sendable (TaskID) async -> Bool, elsewhere: (any ProgramsElsewhere)? = nil
    ) {
        self.elsewhere = elsewhere
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
    private let broadcasts = Mutex<[TaskID: ProgramBroadcast]>([:])
    private let requests: AsyncStream<ProgramBroadcast>
    private let inbox: AsyncStream<ProgramBroadcast>.Continuation

    package init(_ services: PlaybackServices) {
        self.services = services
        (requests, inbox) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for await broadcast in requests.cancelOnGracefulShutdown() {
                group.addTask {
                    await broadcast.run()
                    self.broadcasts.withLock { if $0[broadcast.task] === broadcast { $0[broadcast.task] = nil } }
                }
            }
            group.cancelAll()
        }
    }

    /// Returns the broadcast of a task's program, opening one when there is none.
    package func broadcast(of task: TaskID) -> ProgramBroadcast {
        broadcasts.withLock { broadcasts in
            if let broadcast = broadcasts[task], !broadcast.isOver { return broadcast }
            let broadcast = ProgramBroadcast(task, services: services)
            broadcasts[task] = broadcast
            inbox.yield(broadcast)
            return broadcast
        }
    }

    /// Returns the number of viewers of a task's program, over all protocols.
    package func viewers(of task: TaskID) -> Int { services.viewers.viewers(of: task) }

    /// Reserves a place for a viewer.
    ///
    /// - Parameter node: Name of the node that reads the program for its viewers; `nil` for a viewer.
    /// - Throws: `OrchestratorError` when there is none.
    package func enter(_ task: TaskID, for node: String? = nil) throws(OrchestratorError) -> ViewerCounts.Place {
        do {
            return try services.viewers.enter(task, for: node)
        } catch {
            services.metrics.count(.viewersRefused)
            throw error
        }
    }
}
