/// The part of a plan that describes an output of one kind: its destination and its settings.
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
    ///   - statuses: The states reported by the task's relay. The state of a new output may be missing, and that of a
    ///     removed one may still be there.
    /// - Returns: The state, with a message that may contain a server's text; the caller redacts it.
    static func service(of planned: [Self], _ statuses: [Status]) -> ServiceState

    /// Number of connections over which the output sends the whole program, for the cost of a program. Defaults to 0.
    var connections: Int { get }
}

extension OutputDocument {
    public var connections: Int { 0 }
}

/// The state of one output, as its relay reports it.
public protocol OutputStatusDocument: Hashable, Codable, Sendable {
    /// The status with its numbers limited to usable ranges. A relay is a separate process, and none of its reports may
    /// crash their reader.
    var bounded: Self { get }
}
