/// What a room sends out, as apps show it.
public struct ServiceStates: Hashable, Codable, Sendable {
    /// Its destinations: running while one of them is live; the error of the first that is not.
    public var rtmp: ServiceState
    public var recording: ServiceState
    public var hls: ServiceState

    public init(
        rtmp: ServiceState = ServiceState(), recording: ServiceState = ServiceState(),
        hls: ServiceState = ServiceState()
    ) {
        self.rtmp = rtmp
        self.recording = recording
        self.hls = hls
    }
}

/// Turns the states of a room into changes to tell of: flapping ones not for ever, and the state in which they stay always.
/// Pure.
public struct ServiceWatch: Hashable, Sendable {
    private var known = ServiceStates()
    /// When changes were told, in ns, within the last `window`.
    private var told: [Int64] = []

    /// Changes of one room within `window`; what comes beyond is told when it has passed, if it is still so.
    public static let mostChanges = 20
    /// In ns.
    public static let window: Int64 = 60_000_000_000

    public init() {}

    /// Whether `take` would tell of these. `now` in ns.
    public func tells(of states: ServiceStates, now: Int64) -> Bool {
        states != known && told.count { now - $0 < Self.window } < Self.mostChanges
    }

    /// The states, if they are to be told; each change once.
    public mutating func take(_ states: ServiceStates, now: Int64) -> ServiceStates? {
        guard tells(of: states, now: now) else { return nil }
        told.removeAll { now - $0 >= Self.window }
        told.append(now)
        known = states
        return states
    }
}
