/// The states of a room's outputs by their kinds, as shown by apps.
public struct ServiceStates: Hashable, Sendable {
    /// States by kind. A kind in the state that a missing kind has is left out, so that equal states compare equal.
    private var states: [String: ServiceState] = [:]

    public init() {}

    /// State of a kind (`OutputDocument.kind`).
    public subscript(kind: String) -> ServiceState {
        get { states[kind] ?? ServiceState() }
        set { states[kind] = newValue == ServiceState() ? nil : newValue }
    }
}

/// Turns the states of a room into changes to report. Pure.
///
/// Flapping is limited to `mostChanges` within `window`; the state in which a room stays is always reported.
public struct ServiceWatch: Hashable, Sendable {
    private var known = ServiceStates()
    private var limit = WindowLimit(most: ServiceWatch.mostChanges, window: ServiceWatch.window)

    /// Maximum number of changes of one room within `window`. A further one is reported when the window has passed, if
    /// it still applies.
    public static let mostChanges = 20
    /// Period over which changes are limited, in nanoseconds.
    public static let window: Int64 = 60_000_000_000

    public init() {}

    /// Returns whether `take` would report these states. `now` is in nanoseconds.
    public func tells(of states: ServiceStates, now: Int64) -> Bool {
        states != known && limit.permits(at: now)
    }

    /// Returns the states if they must be reported, each change once. `now` is in nanoseconds.
    public mutating func take(_ states: ServiceStates, now: Int64) -> ServiceStates? {
        guard states != known, limit.take(at: now) else { return nil }
        known = states
        return states
    }
}
