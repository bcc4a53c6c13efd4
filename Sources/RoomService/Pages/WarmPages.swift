import ChildProcesses
import Foundation
import Logging
import MixModel
import Synchronization

/// Browsers that wait for pages, each in its own worker with a fresh profile. With a waiting browser, a page is on air
/// a second earlier. Each browser is used for one page only, and another one is started in its place. Thread-safe.
final class WarmPages: Sendable {
    private typealias Link = WorkerLink<PageCommand, PageReport>

    /// A worker that waits for a page.
    private final class Waiting: Sendable {
        let id = WorkerID.make()
        let link: Link
        let isReady = Atomic(false)
        /// Ends when the worker has been taken.
        let taken: AsyncStream<Void>
        let take: AsyncStream<Void>.Continuation

        init(_ files: PageFiles, _ starter: SocketWorkerStarter, _ logger: Logger) {
            link = Link(
                starter, socket: files.socket(id), log: files.log, isAdopted: false,
                longestLine: PageCommand.longestLine, logger: logger)
            (taken, take) = AsyncStream.makeStream()
        }
    }

    private let count: Int
    private let job: PageJob
    private let files: PageFiles
    private let starter: SocketWorkerStarter
    /// MiB that must be free before another browser is started; 0 = no check.
    private let memory: Int
    private let logger: Logger
    private let waiting = Mutex<[Waiting]>([])

    /// Delay before a replacement is started: after a worker was taken, because its page needs the machine first, and
    /// after a worker was lost.
    private static let pauses = (afterUse: Duration.seconds(2), afterLoss: Duration.seconds(10))

    /// - Parameters:
    ///   - job: Size, frame rate and user of the pages for which browsers wait.
    ///   - memory: MiB that must be free before another browser is started; 0 = no check.
    init(
        _ count: Int, for job: PageJob, memory: Int, files: PageFiles, starter: SocketWorkerStarter, logger: Logger
    ) {
        self.count = count
        self.job = job
        self.memory = memory
        self.files = files
        self.starter = starter
        self.logger = logger
    }

    /// Keeps browsers waiting until the task is cancelled, which ends them.
    func run() async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<count { group.addTask { await self.keepOne() } }
        }
    }

    /// Takes a waiting worker whose browser can show this page.
    ///
    /// - Returns: The identifier of its socket; `nil` if none waits.
    func take(for job: PageJob) -> String? {
        guard job.hasBrowser(like: self.job) else { return nil }
        let found = waiting.withLock { waiting -> Waiting? in
            let index = waiting.firstIndex { $0.isReady.load(ordering: .acquiring) }
            return index.map { waiting.remove(at: $0) }
        }
        guard let found else { return nil }
        found.link.leave()
        found.take.finish()
        return found.id
    }

    /// Number of browsers that can be taken.
    var readyCount: Int { waiting.withLock { $0.count { $0.isReady.load(ordering: .relaxed) } } }

    private func keepOne() async {
        while !Task.isCancelled {
            if memory > 0, let free = MachineMemory.free(), free < memory {
                guard (try? await Task.sleep(for: Self.pauses.afterLoss)) != nil else { return }
                continue
            }
            let worker = Waiting(files, starter, logger)
            waiting.withLock { $0.append(worker) }
            await wait(with: worker)
            let wasTaken = waiting.withLock { waiting in
                let index = waiting.firstIndex { $0 === worker }
                if let index { waiting.remove(at: index) }
                return index == nil
            }
            worker.link.finish()
            if !wasTaken {
                unlink(files.socket(worker.id))
                if !Task.isCancelled {
                    logger.warning("a browser that waited for a page has ended; another one is started")
                }
            }
            let pause = wasTaken ? Self.pauses.afterUse : Self.pauses.afterLoss
            guard (try? await Task.sleep(for: pause)) != nil else { return }
        }
    }

    /// Returns when the worker was taken or has ended. Without either, a cancelled task ends it.
    private func wait(with worker: Waiting) async {
        await withTaskGroup { group in
            group.addTask { await worker.link.run { self.take($0, from: worker) } }
            group.addTask { for await _ in worker.taken {} }
            await group.next()
            group.cancelAll()
        }
    }

    private func take(_ event: Link.Event, from worker: Waiting) -> Bool {
        switch event {
        case .attached: worker.link.send(.hello(version: PageCommand.version))
        case .report(.hello(PageCommand.version, _)): worker.link.send(.prepare(job))
        case .report(.prepared):
            worker.isReady.store(true, ordering: .releasing)
            logger.debug("a browser waits for a page")
        case .report, .detached, .lost: break
        }
        return true
    }
}
