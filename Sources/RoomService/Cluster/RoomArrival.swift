import EncodedMedia
import Foundation
import MixModel

/// The preparation of another node's room at this node: starts relays that stand by, and has the room taken over once
/// this node has the lease. Performs the actions of `ArrivalMachine`.
actor RoomArrival {
    /// The node's functions that an arrival uses.
    struct Node: Sendable {
        /// Takes the room's lease. Returns whether this node has it; `nil` if the store does not answer.
        var claim: @Sendable () async -> Bool?
        /// Returns whether the store says that this node has the lease.
        var look: @Sendable () async -> Bool
        /// Creates the room's owner, which takes over the relays.
        var adopt: @Sendable () async -> Void
    }

    nonisolated let room: RoomID
    private let plans: [ProgramPlan]
    private let onAir: [String: OnAir]
    private let reader: RoomOwner?
    private let services: RoomServices
    private let node: Node
    private var machine: ArrivalMachine
    private nonisolated let events: AsyncStream<ArrivalMachine.Event>
    private nonisolated let inbox: AsyncStream<ArrivalMachine.Event>.Continuation
    /// Commands for relays whose connection is open or being opened.
    private var relays: [TaskID: AsyncStream<RelayCommand>.Continuation] = [:]
    private var answer: String??
    private var isOver = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Time between two checks of the store and the clock.
    private static let interval: Duration = .milliseconds(500)
    /// Time for unneeded relays to end.
    private static let drainLimit: Duration = .seconds(3)
    /// Time in ns for which a relay outlives an arrival that no longer controls it.
    private static let grace: Int64 = 5_000_000_000

    /// - Parameters:
    ///   - plans: Plans of the relays.
    ///   - onAir: The feed that each task's relay must have on air before it is ready.
    ///   - reader: The owner that made the plans.
    init(
        _ room: RoomID, plans: [ProgramPlan], onAir: [String: OnAir], reader: RoomOwner?, services: RoomServices,
        node: Node
    ) {
        self.room = room
        self.plans = plans
        self.onAir = onAir
        self.reader = reader
        self.services = services
        self.node = node
        machine = ArrivalMachine(tasks: Set(plans.map(\.task)), at: BootClock.now())
        (events, inbox) = AsyncStream.makeStream()
    }

    /// Receives the news that the lease was passed, or that the room does not arrive. Returns when it has been handled.
    func receive(_ event: ArrivalMachine.Event) async {
        inbox.yield(event)
        await wait { $0.isOver }
    }

    /// Returns `nil` when the relays are ready, or else the reason why they are not.
    func readiness() async -> String? {
        await wait { $0.answer != nil }
        return answer ?? "it was cancelled"
    }

    /// Runs until the room is taken over, or does not arrive.
    func run() async {
        await withDiscardingTaskGroup { group in
            for plan in plans { group.addTask { await self.prepare(plan) } }
            group.addTask { [inbox] in
                repeat { inbox.yield(.tick) } while (try? await Task.sleep(for: Self.interval)) != nil
            }
            for await event in events {
                for action in machine.take(event, at: BootClock.now()) { await perform(action) }
                if machine.isOver { break }
            }
            if !machine.isOver { await perform(.end) }
            group.cancelAll()
        }
        inbox.finish()
        answer = answer ?? "the node stops"
        isOver = true
        wake()
    }

    private func perform(_ action: ArrivalMachine.Action) async {
        switch action {
        case .answer(let reason):
            answer = .some(reason)
            wake()
        case .claim:
            guard let isOurs = await node.claim() else {
                try? await Task.sleep(for: Self.interval)
                inbox.yield(.unanswered)
                return
            }
            inbox.yield(.claimed(isOurs))
        case .look:
            if await node.look() { inbox.yield(.found) }
        case .adopt: await node.adopt()
        case .end: await end()
        }
    }

    // MARK: Relays

    private func prepare(_ plan: ProgramPlan) async {
        // A move that is called off at once ends only the relays that it has started by then.
        guard !machine.isOver else { return }
        let task = plan.task
        let socket = services.sockets.path(of: task)
        let (commands, queue) = AsyncStream.makeStream(of: RelayCommand.self)
        relays[task] = queue
        var reason = "the relay has ended"
        do {
            // The clock file may be from an earlier stay of the room at this node.
            RelayProcessFile.removeClock(socket: socket)
            let process = try services.starter.startAfresh(task: task, socket: socket)
            services.preparedRelays.keep(process, at: socket)
            let connection = try await services.relayStarts.pass { try await process.connect(socket: socket) }
            for command in [RelayCommand.hold(until: machine.deadline + Self.grace), .standBy, .apply(plan)] {
                queue.yield(command)
            }
            // The feed on air at its owner, or the one in the plan: the room may have changed since its owner looked.
            let (inbox, expected) = (inbox, onAir[task.rawValue].map { [$0, plan.mode.onAir] as [OnAir?] })
            try await connection.control(
                commands: commands,
                onReport: { report in
                    switch report {
                    case .refused(let reason): throw RelayError.refused(reason)
                    case .status(let status):
                        guard status.isSilent, status.revision == plan.revision,
                            expected?.contains(status.onAir) ?? true
                        else { return }
                        inbox.yield(.relayReady(task))
                    case .note, .switched: break
                    }
                })
        } catch {
            reason = "\(error)"
        }
        relays[task] = nil
        if !Task.isCancelled { inbox.yield(.relayFailed(task, "\(task): \(reason)")) }
    }

    /// Ends the prepared relays, and drops what was loaded for them.
    private func end() async {
        for queue in relays.values { queue.yield(.drain) }
        let processes = plans.compactMap { services.preparedRelays.take(services.sockets.path(of: $0.task)) }
        let limit = ContinuousClock.now + Self.drainLimit
        while processes.contains(where: { $0.exitDescription() == nil }), ContinuousClock.now < limit {
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
        }
        for process in processes where process.exitDescription() == nil { process.signal(SIGTERM) }
        await reader?.forgetNeeds()
    }

    // MARK: Waiting

    private func wait(until isDone: (isolated RoomArrival) -> Bool) async {
        while !isOver, !isDone(self) { await withCheckedContinuation { waiters.append($0) } }
    }

    private func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }
}
