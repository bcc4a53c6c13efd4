/// What one kind of output needs to know in a plan: where it goes, and its settings.
///
/// A relay opens an output for each document of its plan. A kind lists its document in `OutputDocuments`; plans,
/// statuses and the states that apps see are read, written and compared through that list.
public protocol OutputDocument: Hashable, Codable, Sendable {
    associatedtype Status: OutputStatusDocument

    /// Name of the kind, under which apps see its state (`ServiceStates`). Unique, ASCII.
    static var kind: String { get }

    /// Place of the kind's documents in the JSON of a plan (`ProgramPlan`), which relays of other releases read and the
    /// store keeps: it never changes.
    static var planField: OutputField { get }

    /// Place of the kind's states in the JSON of a status (`RelayStatus`), which services of other releases read: it
    /// never changes.
    static var statusField: OutputField { get }

    /// Name of the output, unique among those of its kind in a plan.
    var outputID: OutputID { get }

    /// Returns the state of the kind as apps see it.
    ///
    /// - Parameters:
    ///   - planned: The documents of one task's plan.
    ///   - statuses: The states that the task's relay has reported; those of an output that is new, or gone, may be
    ///     missing or left.
    /// - Returns: The state, with a message that may hold what a server said; the caller redacts it.
    static func service(of planned: [Self], _ statuses: [Status]) -> ServiceState

    /// Number of connections over which the output sends the whole program away, for the costs of a program. 0 unless
    /// the kind says otherwise.
    var connections: Int { get }
}

extension OutputDocument {
    public var connections: Int { 0 }
}

/// The state of one output, as its relay reports it.
public protocol OutputStatusDocument: Hashable, Codable, Sendable {
    /// The status with its numbers limited to usable ranges. A relay is a process of its own, and none of its reports
    /// may crash their reader.
    var bounded: Self { get }
}
