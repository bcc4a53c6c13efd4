import MixModel
import TaskStore

/// One of a room's tasks in its owner's hands: the document and what is known of it only now.
struct OwnedTask: Sendable {
    var machine: Versioned<TaskMachine>
    /// What the relay told last; `nil` while none is connected.
    var status: RelayStatus?
    var sourceFacts: SourceFacts
    var outputs = OutputJournal()
    /// The same for subscribers, and what they are to be told next.
    var outputWatch = OutputWatch()
    var outputChanges: [OutputChange] = []
    /// Where the outputs that the watch knows push.
    var outputURLs: [OutputID: String] = [:]
    /// Performs the actions; made with the first one.
    var owner: TaskOwner?
    /// Set from the request to end the relay for a shutdown until it has ended.
    var awaitsDrain = false
    /// What the ledger of destinations was told last.
    var claim: Claim?

    /// What could not be stored; the next change that can be carries it.
    var isUnstored = false
    var unstoredEntries: [StampedEntry] = []
    var unstoredSwitches: [SwitchRecord] = []

    /// Entries that wait for a store that takes them; the oldest go first.
    static let mostUnstored = 200

    /// Where a task may push; `nil` = to the configured outputs.
    struct Claim: Hashable, Sendable {
        var pushes: Bool
        var outputs: [PlannedOutput]?
    }

    init(_ machine: Versioned<TaskMachine>) {
        self.machine = machine
        sourceFacts = machine.document.sourceFacts ?? SourceFacts()
    }

    var id: TaskID { machine.document.id }

    /// It is on air, or on its way there.
    var wantsProgram: Bool {
        guard machine.document.plan != nil, !awaitsDrain else { return false }
        return switch machine.document.phase {
        case .starting, .running, .recovering: true
        case .waiting, .held, .ending, .finished: false
        }
    }

    /// How long, and how many, explicit tasks can still be asked for when they have ended for good.
    static let finishedLifetime: Double = 3600
    static let mostFinished = 16

    /// Ended for good, and long enough ago to be forgotten. `now` in seconds since 1970.
    func isForgotten(_ now: Double) -> Bool {
        guard machine.document.isFinished, let finishedAt = machine.document.finishedAt else { return false }
        return now - finishedAt >= Self.finishedLifetime
    }
}
