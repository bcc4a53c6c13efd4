import MixModel

/// Decides how a node prepares a room of another node and takes it over. Pure; all times are in ns of CLOCK_BOOTTIME.
///
/// The prepared relays send nothing. The room's owner adopts them, and starts only after the store has given this node
/// the lease.
struct ArrivalMachine: Sendable {
    enum Step: Hashable, Sendable {
        /// The relays of these tasks are not ready yet.
        case preparing(Set<TaskID>)
        /// The giver was told that all relays are ready.
        case ready
        /// The store was asked for the lease.
        case claiming
        case over
    }

    enum Event: Hashable, Sendable {
        case relayReady(TaskID)
        /// The relay has ended or never came, in words.
        case relayFailed(TaskID, String)
        /// The giver reports that it has passed the lease.
        case told
        /// The store was found to give this node the lease.
        case found
        case cancelled
        /// The store's answer: whether this node has the lease.
        case claimed(Bool)
        /// The store has not answered.
        case unanswered
        /// Time has passed.
        case tick
    }

    enum Action: Hashable, Sendable {
        /// Answers the giver: `nil` if the relays are ready, or the reason why not.
        case answer(String?)
        case claim
        /// Asks the store which node has the lease.
        case look
        /// Gives the relays to the room's owner.
        case adopt
        /// Ends the relays.
        case end
    }

    private(set) var step: Step
    /// Time at which relays that are not ready are abandoned.
    let answerBy: Int64
    /// Time at which the room is abandoned.
    let deadline: Int64

    /// Time within which relays must be ready, in ns. A first source may take five seconds, and a mix three more.
    static let preparation: Int64 = 15_000_000_000
    /// Time for which relays that are ready wait for the lease, in ns: longer than the giver's relays take to stop.
    static let patience: Int64 = 20_000_000_000

    init(tasks: Set<TaskID>, at now: Int64) {
        step = .preparing(tasks)
        answerBy = now + Self.preparation
        deadline = answerBy + Self.patience
    }

    var isOver: Bool { step == .over }

    /// - Parameter now: Present time.
    mutating func take(_ event: Event, at now: Int64) -> [Action] {
        switch (step, event) {
        case (.over, _):
            return []
        case (_, .cancelled):
            return finish([.end])
        case (.preparing(var tasks), .relayReady(let task)):
            tasks.remove(task)
            step = .preparing(tasks)
            return readyIfComplete()
        case (.preparing, .relayFailed(_, let reason)):
            return finish([.answer(reason), .end])
        case (.preparing(let tasks), .tick):
            if tasks.isEmpty { return readyIfComplete() }
            guard now >= answerBy else { return [] }
            let names = tasks.sorted().prefix(5).map { "\($0)" }.joined(separator: ", ")
            return finish([.answer("not ready within \(Self.preparation / 1_000_000_000) s: \(names)"), .end])
        case (.preparing, .told), (.ready, .told), (.ready, .found):
            step = .claiming
            return [.claim]
        case (.ready, .tick):
            return now < deadline ? [.look] : finish([.end])
        case (.claiming, .claimed(let isOurs)):
            return finish([isOurs ? .adopt : .end])
        case (.claiming, .unanswered):
            return now < deadline ? [.claim] : finish([.end])
        default:
            return []
        }
    }

    private mutating func readyIfComplete() -> [Action] {
        guard step == .preparing([]) else { return [] }
        step = .ready
        return [.answer(nil)]
    }

    private mutating func finish(_ actions: [Action]) -> [Action] {
        step = .over
        return actions
    }
}
