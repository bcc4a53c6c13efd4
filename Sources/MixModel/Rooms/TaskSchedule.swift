/// The period in which an explicit task may be on air. Seconds since 1970.
///
/// With both times, the program is on air between them whether or not a participant is present: the slate fills the
/// time.
public struct TaskSchedule: Hashable, Codable, Sendable {
    /// Time before which the task does not start; `nil` means at any time.
    public var startsAt: Double?
    /// Time at which the task ends permanently; `nil` means that its policy decides.
    public var endsAt: Double?

    public init(startsAt: Double? = nil, endsAt: Double? = nil) {
        self.startsAt = startsAt
        self.endsAt = endsAt
    }

    /// Returns whether the start is in the future.
    public func isAhead(at time: Double) -> Bool { startsAt.map { time < $0 } ?? false }

    /// Returns whether the end has been reached.
    func isOver(at time: Double) -> Bool { endsAt.map { time >= $0 } ?? false }

    /// Returns whether the program is on air with or without participants.
    func isOnAir(at time: Double) -> Bool {
        startsAt != nil && endsAt != nil && !isAhead(at: time) && !isOver(at: time)
    }

    /// The next time at which the schedule has an effect; `nil` if there is none.
    func nextChange(after time: Double) -> Double? { [startsAt, endsAt].compactMap(\.self).filter { $0 > time }.min() }
}
