import EncodedMedia

/// Decides which of a stream's two addresses is pulled: the first one, or its backup. Pure.
public struct BackupChoice: Sendable {
    public enum Way: Hashable, Sendable { case first, backup }

    /// Time within which a failure makes the next return wait for twice as long.
    static let memory = MediaTime.seconds(60)
    /// Upper limit of the time for which the first address must be good.
    static let mostRecovery = MediaTime.seconds(60)
    /// Time without media after which a connection has failed: longer than the hiccups that `StallWatch` bridges.
    public static let silence = MediaTime.milliseconds(1500)
    /// Longest wait for the first media of a connection.
    public static let beginning = MediaTime.seconds(4)

    public private(set) var way = Way.first
    private let recovery: MediaTime
    private var wanted: MediaTime
    private var returnedAt: MediaTime?
    private var goodSince: MediaTime?

    /// - Parameter recovery: Time for which the first address must be good before it is pulled again.
    public init(recovery: MediaTime) {
        self.recovery = recovery
        wanted = recovery
    }

    /// Records that the address in use has failed: the other one is next.
    public mutating func failed(at now: MediaTime) {
        goodSince = nil
        guard way == .first else {
            way = .first
            return
        }
        way = .backup
        let isSoon = returnedAt.map { now - $0 < Self.memory } ?? false
        wanted = isSoon ? min(wanted * 2, max(Self.mostRecovery, recovery)) : recovery
    }

    /// Records the state of the first address while the backup is in use.
    /// - Returns: Whether it has been good for long enough to be pulled again.
    public mutating func first(isGood: Bool, at now: MediaTime) -> Bool {
        guard way == .backup, isGood else {
            goodSince = nil
            return false
        }
        let since = goodSince ?? now
        goodSince = since
        return now - since >= wanted
    }

    /// Records that the first address is in use again.
    public mutating func returned(at now: MediaTime) {
        way = .first
        goodSince = nil
        returnedAt = now
    }
}
