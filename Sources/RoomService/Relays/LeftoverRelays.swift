import Foundation
import Logging
import MixModel

/// The relays that an earlier run of the service left and that no task wants.
struct LeftoverRelays: Sendable {
    private let directory: String
    private let starter: any RelayStarting
    private let starts: Turnstile
    private let logger: Logger

    /// Time within which a relay must report its task.
    static let answerLimit: Duration = .seconds(2)
    /// Time for which a relay's log is kept after its last change, in seconds.
    static let logAge: Double = 7 * 86_400

    init(sockets: RelaySockets, starter: any RelayStarting, starts: Turnstile, logger: Logger) {
        directory = sockets.directory
        self.starter = starter
        self.starts = starts
        self.logger = logger
    }

    /// Removes unwanted sockets without a listener, kills the remaining processes of their relays, and removes old
    /// logs. Blocks only for as long as the kernel needs to refuse a connection.
    ///
    /// - Parameter wanted: Paths of sockets that belong to tasks.
    /// - Returns: Unwanted sockets on which a process listens.
    func clear(except wanted: Set<String>) async -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var listening: [String] = []
        for name in names.sorted() {
            let path = directory + "/" + name
            if name.hasSuffix(".log") {
                removeOldLog(path)
            } else if name.hasSuffix(".pulls") {
                // A crashed relay left this for its successor, but no task wants it.
                if !wanted.contains(path.dropLast(6) + ".sock") { unlink(path) }
            } else if name.hasSuffix(".sock"), !wanted.contains(path) {
                if await (try? RelayConnection.open(path: path))?.close() != nil {
                    listening.append(path)
                } else {
                    starter.killLeftover(socket: path)
                    unlink(path)
                }
            } else if name.hasSuffix(".clock") {
                // The file of a program that is over. The relay of a continuing program finds its own file.
                let socket = path.dropLast(6) + ".sock"
                if !wanted.contains(String(socket)) { unlink(path) }
            } else if name.hasSuffix(".pid") {
                // A relay that was killed after it had removed its socket, or before it had created it.
                let socket = path.dropLast(4) + ".sock"
                if !wanted.contains(String(socket)), !names.contains(name.dropLast(4) + ".sock") {
                    starter.killLeftover(socket: String(socket))
                }
            }
        }
        return listening
    }

    private func removeOldLog(_ path: String) {
        guard let changed = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date,
            -changed.timeIntervalSinceNow > Self.logAge
        else { return }
        unlink(path)
    }

    /// Lets tasks keep relays that listen at the path of an earlier version. Such a relay must report the task as its
    /// own; any other relay is not kept.
    func keepFormer(_ tasks: [TaskID], in sockets: RelaySockets) async {
        for task in tasks {
            guard let path = sockets.formerPath(of: task) else { continue }
            var owner: TaskID?
            // A machine that is just starting is slow, and a program on air is worth the wait.
            for _ in 0..<3 where owner == nil { owner = await self.task(behind: path) }
            if owner == task { sockets.keep(path, of: task) }
        }
    }

    /// Drains these relays, and kills those that do not end.
    func drain(_ sockets: [String]) async {
        await withDiscardingTaskGroup { group in
            for socket in sockets { group.addTask { await drain(socket) } }
        }
    }

    private func drain(_ socket: String) async {
        guard let task = await task(behind: socket) else {
            if Task.isCancelled { return }
            logger.warning("an orphaned relay does not answer and is killed", metadata: ["socket": "\(socket)"])
            starter.killLeftover(socket: socket)
            unlink(socket)
            return
        }
        logger.notice("an orphaned relay is drained", metadata: ["task": "\(task)"])
        let (reports, inbox) = AsyncStream.makeStream(of: RelaySupervisor.Report.self)
        let supervisor = RelaySupervisor(task: task, socket: socket, starter: starter, starts: starts, logger: logger) {
            inbox.yield($0)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await supervisor.run() }
            supervisor.perform([.drainRelay])
            for await report in reports {
                if case .drained = report { break }
            }
            group.cancelAll()
        }
    }

    /// Returns the task that the relay reports; `nil` when it does not report one in time.
    private func task(behind socket: String) async -> TaskID? {
        await withTaskGroup(of: TaskID?.self) { group in
            group.addTask {
                let (commands, _) = AsyncStream.makeStream(of: RelayCommand.self)
                do {
                    try await RelayConnection.open(path: socket).control(commands: commands) { report in
                        guard case .status(let status) = report else { return }
                        throw RelayError.wrongTask(status.task)
                    }
                } catch RelayError.wrongTask(let task) {
                    return task
                } catch {}
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: Self.answerLimit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
