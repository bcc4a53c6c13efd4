import EncodedMedia
import Logging
import MixModel
import NIOPosix
import ServiceLifecycle

/// Reads the machine's load once a second and lets rooms act on the result: programs are degraded or restored, and
/// waiting tasks that now fit are started.
package struct LoadMonitor: Service {
    let load: MachineLoad
    let registry: RoomRegistry
    let file: CostFile
    let logger: Logger
    /// Reads the machine. Tests replace it.
    var read: @Sendable () -> MachineReading? = { MachineReading.now() }
    var interval: Duration = .seconds(1)

    package init(
        load: MachineLoad, registry: RoomRegistry, file: CostFile, logger: Logger,
        read: @escaping @Sendable () -> MachineReading? = { MachineReading.now() }, interval: Duration = .seconds(1)
    ) {
        self.load = load
        self.registry = registry
        self.file = file
        self.logger = logger
        self.read = read
        self.interval = interval
    }

    /// Number of `interval`s between two saves of learnt costs.
    static let savingInterval = 60

    package func run() async throws {
        var saved = load.costs
        var round = 0
        // The loop ends with the service, gracefully or not; the learnt costs are saved afterwards.
        while (try? await cancelWhenGracefulShutdown({ try await Task.sleep(for: interval) })) != nil {
            round += 1
            await perform(load.tick(read(), now: MonotonicClock.now()))
            if round % Self.savingInterval == 0 { saved = await save(load.costs, unless: saved) }
        }
        _ = await save(load.costs, unless: saved)
    }

    private func perform(_ outcome: LoadAccounting.Outcome) async {
        if let step = outcome.step {
            logger.notice(
                "\(step.reason): program set to load level \(step.to)",
                metadata: ["task": "\(step.task)", "from": "\(step.from)", "to": "\(step.to)"])
        }
        for (room, reason) in outcome.changed { await tell(room, "load: \(reason)") }
        for room in outcome.admitted { await tell(room, "the machine has capacity again") }
    }

    private func tell(_ room: RoomID, _ reason: String) async {
        do {
            try await registry.existingOwner(room)?.loadChanged(reason)
        } catch {
            // A waiting task is considered again in a second; a level takes effect with the room's next plan.
            logger.warning("cannot tell a room about the load: \(error)", metadata: ["room": "\(room)"])
        }
    }

    private func save(_ costs: CostModel, unless saved: CostModel) async -> CostModel {
        guard costs != saved else { return saved }
        do {
            try await NIOThreadPool.singleton.runIfActive { [file] in try file.write(costs) }
        } catch {
            logger.warning("learnt costs cannot be stored in \(file.path): \(error)")
        }
        return costs
    }
}
