import MixModel
import TaskStore

/// One of a room's tasks: its document, and the state that is not stored.
package struct OwnedTask: Sendable {
    package internal(set) var machine: Versioned<TaskMachine>
    /// Last status of the relay; `nil` while none is connected.
    package internal(set) var status: RelayStatus?
    var sourceFacts: SourceFacts
    var outputs = OutputJournal()
    /// The outputs as last reported to subscribers, and the changes to report next.
    var outputWatch = OutputWatch()
    var outputChanges: [OutputChange] = []
    /// URLs of the outputs that the watch knows.
    var outputURLs: [OutputID: String] = [:]
    /// Whether the relay was asked to end for a shutdown and has not ended yet.
    var awaitsDrain = false

    /// Whether there is state that could not be stored. The next change that is stored includes it.
    var isUnstored = false
    package internal(set) var unstoredEntries: [StampedEntry] = []
    package internal(set) var unstoredSwitches: [SwitchRecord] = []

    /// Maximum number of entries kept until the store accepts them. The oldest are dropped first.
    static let mostUnstored = 200

    init(_ machine: Versioned<TaskMachine>) {
        self.machine = machine
        sourceFacts = machine.document.sourceFacts ?? SourceFacts()
    }

    package var id: TaskID { machine.document.id }

    /// Whether the task is on air or about to be.
    package var wantsProgram: Bool { machine.document.plan != nil && !awaitsDrain }

    /// Seconds for which finished explicit tasks can still be read, and the maximum number of such tasks.
    static let finishedLifetime: Double = 3600
    static let mostFinished = 16

    /// Returns whether the task ended permanently long enough ago to be removed. `now` is in seconds since 1970.
    func isForgotten(_ now: Double) -> Bool {
        guard machine.document.isFinished, let finishedAt = machine.document.finishedAt else { return false }
        return now - finishedAt >= Self.finishedLifetime
    }
}
