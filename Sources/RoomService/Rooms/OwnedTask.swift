import MixModel
import TaskStore

/// What is known of one of a room's tasks: its document, and the state that is not stored.
package struct OwnedTask: Sendable {
    package internal(set) var machine: Versioned<TaskMachine>
    /// Last status of the relay; `nil` while none is connected.
    package internal(set) var status: RelayStatus?
    var sourceFacts: SourceFacts
    var outputs = OutputJournal()
    /// The outputs as subscribers know them, and the changes that subscribers are told next.
    var outputWatch = OutputWatch()
    var outputChanges: [OutputChange] = []
    /// URLs of the outputs that the watch knows.
    var outputURLs: [OutputID: String] = [:]
    /// Whether the relay was asked to end for a shutdown and has not ended yet.
    var awaitsDrain = false

    /// Whether there is state that could not be stored. The next change that is stored carries it.
    var isUnstored = false
    package internal(set) var unstoredEntries: [StampedEntry] = []
    package internal(set) var unstoredSwitches: [SwitchRecord] = []

    /// Most entries kept until the store takes them. The oldest are dropped first.
    static let mostUnstored = 200

    init(_ machine: Versioned<TaskMachine>) {
        self.machine = machine
        sourceFacts = machine.document.sourceFacts ?? SourceFacts()
    }

    package var id: TaskID { machine.document.id }

    /// Whether the task is on air, or on its way there.
    package var wantsProgram: Bool { machine.document.plan != nil && !awaitsDrain }

    /// Seconds for which finished explicit tasks can still be read, and their largest number.
    static let finishedLifetime: Double = 3600
    static let mostFinished = 16

    /// Whether the task ended for good long enough ago to be forgotten. `now` is in seconds since 1970.
    func isForgotten(_ now: Double) -> Bool {
        guard machine.document.isFinished, let finishedAt = machine.document.finishedAt else { return false }
        return now - finishedAt >= Self.finishedLifetime
    }
}
