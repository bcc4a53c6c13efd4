/// The window after a plan in which further changes are merged into one, so that flapping streams do not cause a plan
/// each. Pure; all times are in nanoseconds of CLOCK_MONOTONIC.
enum Debounce: Hashable, Sendable {
    /// The next change takes effect at once.
    case open
    /// Changes are held back until this time. None has arrived yet.
    case quiet(until: Int64)
    /// Changes are held back until this time.
    ///
    /// - `causes`: causes of the changes, oldest first, 1…`mostCauses`.
    /// - `deadline`: number of the deadline that plans them.
    case holding(until: Int64, causes: [Cause], deadline: Int)

    /// Length of the window after a plan. In nanoseconds.
    static let window: Int64 = 300_000_000
    /// Maximum number of causes held. The oldest and the newest are enough; the list must not grow with a flapping
    /// stream.
    static let mostCauses = 8

    /// Returns the time until which a change that arrives at `now` is held back; `nil` if it takes effect at once.
    func end(at now: Int64) -> Int64? {
        switch self {
        case .open: nil
        case .quiet(let end), .holding(let end, _, _): now < end ? end : nil
        }
    }

    /// Holds back another cause. When the list is full, it replaces the last one.
    ///
    /// - Returns: Whether a deadline awaits the end of the window. Without one, nothing is held back: the caller
    ///   schedules a deadline and starts to hold.
    mutating func add(_ cause: Cause) -> Bool {
        guard case .holding(let end, var causes, let deadline) = self else { return false }
        if causes.count >= Self.mostCauses { causes.removeLast() }
        causes.append(cause)
        self = .holding(until: end, causes: causes, deadline: deadline)
        return true
    }

    /// Ends the holding for a plan that is made now. The window is unchanged.
    ///
    /// - Returns: The causes held back so far, oldest first.
    mutating func release() -> [Cause] {
        guard case .holding(let end, let causes, _) = self else { return [] }
        self = .quiet(until: end)
        return causes
    }

    /// Ends the window if the deadline is the one that it awaits.
    ///
    /// - Returns: The causes held back, oldest first; `nil` if the window awaits another deadline.
    mutating func pass(deadline number: Int) -> [Cause]? {
        guard case .holding(_, let causes, number) = self else { return nil }
        self = .open
        return causes
    }
}
