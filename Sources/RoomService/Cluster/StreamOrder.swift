import MixModel

/// A message or question of one node's ingest to another node.
package enum StreamOrder: Hashable, Codable, Sendable {
    /// Stores an event, at the node that has the room. The end of a stream that the room has by now from somewhere else changes
    /// nothing.
    ///
    /// - Parameters:
    ///   - path: The part of the stream's URL behind host and port, which no other ingest has. A secret.
    ///   - turn: What it does about a publisher at another ingest; `nil` from nodes of earlier releases, which take the place.
    case store(RoomEvent, path: String, turn: StreamTurn?)
    /// Adds an entry to the timelines of the room, if it is in memory.
    case note(RoomID, String)
    /// Says whether a publisher of the stream is connected at the node's own ingest.
    case isPublished(stream: String)
    /// Looks whether the room has the stream from another ingest by now. The node does that from time to time, told or not.
    case look(stream: String)
    /// Says which rooms' programs the node sends to this path, at any host, and which streams of its ingest are programs.
    case programs(path: String)
    /// Passes on what publishers say to the players of their streams, at most `SayingQueues.most` sayings in order.
    case say([StreamSaying])
    /// Asks the relay of a program for a keyframe, if the node has one.
    case requestKeyframe(TaskID)
    /// Says how many viewers of a program a node has that reads it from the receiver. It has no effect if the node does not.
    ///
    /// - Parameter node: The name by which it reads the program.
    case viewers(TaskID, node: String, count: Int)
}

/// The answer to a `StreamOrder`.
package struct StreamAnswer: Hashable, Codable, Sendable {
    /// The reason why the order was not carried out.
    package struct Fault: Hashable, Codable, Sendable {
        package var code: String
        package var title: String
        package var detail: String
        /// Whether the same order may succeed later.
        package var mayPass: Bool
    }

    /// Effect of a stored event; `nil` if it was not stored, because the ingest of `former` has the stream.
    package var outcome: EventOutcome?
    /// The publication at another ingest that has or had the stream.
    package var former: StreamHolder?
    package var fault: Fault?
    package var isPublished: Bool?
    /// The publisher's activity; `nil` if none is connected, and from nodes of earlier releases.
    package var activity: PublisherActivity?
    package var programs: StreamPrograms?

    init(outcome: EventOutcome? = nil) { self.outcome = outcome }

    init(_ receipt: StreamReceipt) {
        outcome = receipt.outcome
        former = receipt.former
    }

    init(_ error: OrchestratorError) {
        fault = Fault(code: error.code, title: error.title, detail: error.detail, mayPass: error.isFault)
    }

    /// Returns what came of an event.
    ///
    /// - Throws: The other node's reason why it is not stored.
    func receipt() throws(OrchestratorError) -> StreamReceipt {
        try check()
        return StreamReceipt(outcome: outcome ?? (former == nil ? .accepted : nil), former: former)
    }

    /// - Throws: The other node's reason why the order was not followed.
    func check() throws(OrchestratorError) {
        guard let fault else { return }
        throw OrchestratorError(
            fault.mayPass ? .unavailable : .conflict, fault.code, fault.title, detail: fault.detail)
    }
}

/// The programs that are published into rooms, as far as a node knows them.
package struct StreamPrograms: Hashable, Codable, Sendable {
    /// Rooms whose programs the node sends to the path that was asked for.
    package var senders: [RoomID] = []
    /// Rooms whose programs are streams of the node's ingest, by the streams' texts.
    package var origins: [String: RoomID] = [:]

    package init() {}
}

/// Decides whether to retry an event that was not stored, because its room may have moved to another node. Pure.
enum StreamPatience {
    /// Time within which the room must be found: the eight seconds that a publisher waits, minus what the ingest needs.
    static let limit: Duration = .seconds(6)
    /// Timeout for an answer of another node.
    static let answer: Duration = .seconds(4)
    /// Time for an answer that another node has in memory.
    static let quickAnswer: Duration = .milliseconds(1500)
    /// Time between two attempts.
    static let pause: Duration = .milliseconds(100)

    /// Errors that pass once the room has found its node.
    private static let passing: Set<String> = ["room-moving", "room-elsewhere", "node-unreachable", "stopping"]

    /// - Parameter spent: Time since the first attempt.
    static func triesAgain(after error: OrchestratorError, spent: Duration) -> Bool {
        passing.contains(error.code) && spent + pause < limit
    }
}
