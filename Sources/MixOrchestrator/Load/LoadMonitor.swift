import Logging
import MixModel
import NIOPosix
import ServiceLifecycle

/// Looks at the machine once a second and has rooms act on what follows: programs made cheaper or whole again, waiting
/// tasks that fit now.
struct LoadMonitor: Service {
    let ledger: LoadLedger
    let registry: RoomRegistry
    let file: CostFile
    let logger: Logger
    /// Tests put a machine of their own here.
    var read: @Sendable () -> MachineReading? = { MachineReading.now() }
    var interval: Duration = .seconds(1)

    /// What was learnt is written so often, in intervals.
    static let savingInterval = 60

    func run() async throws {
        var saved = ledger.costs
        var round = 0
        // Ends with the service, graceful or not; then what was learnt is kept.
        while (try? await cancelWhenGracefulShutdown({ try await Task.sleep(for: interval) })) != nil {
            round += 1
            await perform(ledger.tick(read(), now: MonotonicClock.now()))
            if round % Self.savingInterval == 0 { saved = await save(ledger.costs, unless: saved) }
        }
        _ = await save(ledger.costs, unless: saved)
    }

    private func perform(_ outcome: LoadBook.Outcome) async {
        if let step = outcome.step {
            logger.notice(
                "\(step.reason): a program's level is \(step.to)",
                metadata: ["task": "\(step.task)", "from": "\(step.from)", "to": "\(step.to)"])
        }
        for (room, reason) in outcome.changed { await tell(room, "load: \(reason)") }
        for room in outcome.admitted { await tell(room, "there is room on the machine again") }
    }

    private func tell(_ room: RoomID, _ reason: String) async {
        do {
            try await registry.existingOwner(room)?.loadChanged(reason)
        } catch {
            // Whoever waits is looked at again in a second; a level comes with the room's next plan.
            logger.warning("a room cannot be told of the load: \(error)", metadata: ["room": "\(room)"])
        }
    }

    private func save(_ costs: CostModel, unless saved: CostModel) async -> CostModel {
        guard costs != saved else { return saved }
        do {
            try await NIOThreadPool.singleton.runIfActive { [file] in try file.write(costs) }
        } catch {
            logger.warning("what was learnt of costs cannot be kept in \(file.path): \(error)")
        }
        return costs
    }
}
