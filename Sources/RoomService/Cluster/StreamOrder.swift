import MixModel

/// What the ingest of one node tells the node that has a stream's room.
package enum StreamOrder: Hashable, Codable, Sendable {
    /// Stores an event. The end of a stream that the room has by now from somewhere else changes nothing.
    ///
    /// - Parameter path: The part of the stream's URL behind host and port, which no other ingest has. A secret.
    case store(RoomEvent, path: String)
    /// Adds an entry to the timelines of the room, if it is in memory.
    case note(RoomID, String)
}

/// The answer to a `StreamOrder`.
package struct StreamAnswer: Hashable, Codable, Sendable {
    /// Reason why the order was not followed.
    package struct Fault: Hashable, Codable, Sendable {
        package var code: String
        package var title: String
        package var detail: String
        /// Whether the same order may be followed later.
        package var mayPass: Bool
    }

    /// Effect of a stored event.
    package var outcome: EventOutcome?
    package var fault: Fault?

    init(outcome: EventOutcome? = nil) { self.outcome = outcome }

    init(_ error: OrchestratorError) {
        fault = Fault(code: error.code, title: error.title, detail: error.detail, mayPass: error.isFault)
    }

    /// Returns the effect of a stored event.
    ///
    /// - Throws: The other node's reason why it is not stored.
    func effect() throws(OrchestratorError) -> EventOutcome {
        if let fault {
            throw OrchestratorError(
                fault.mayPass ? .unavailable : .conflict, fault.code, fault.title, detail: fault.detail)
        }
        return outcome ?? .accepted
    }
}

/// Decides whether an event that was not stored is tried again, because its room may be at another node by then. Pure.
enum StreamPatience {
    /// Time in which a room has to be found: what an ingest leaves of the eight seconds that a publisher waits.
    static let limit: Duration = .seconds(6)
    /// Time for one answer of another node.
    static let answer: Duration = .seconds(4)
    /// Time between two attempts.
    static let pause: Duration = .milliseconds(100)

    /// Reasons that pass when the room has found its node.
    private static let passing: Set<String> = ["room-moving", "room-elsewhere", "node-unreachable", "stopping"]

    /// - Parameter spent: Time since the first attempt.
    static func triesAgain(after error: OrchestratorError, spent: Duration) -> Bool {
        passing.contains(error.code) && spent + pause < limit
    }
}
