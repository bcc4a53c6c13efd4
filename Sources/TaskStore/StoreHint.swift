import MixModel

/// Word of another node that something has happened for which nodes otherwise look from time to time.
///
/// A hint may be lost, late or repeated: what it tells of is in the store, and whoever follows hints looks there without
/// them, too, only later.
public enum StoreHint: String, Hashable, CaseIterable, Sendable {
    /// Rooms wait for a node.
    case rooms
    /// A node is gone: its rooms and its messages wait for another.
    case departure
    /// Subscriptions were added, changed or removed.
    case subscriptions
    /// Hints may have been lost, so that anything may have happened.
    case anything
}

extension ClusterStore {
    /// No hints: what happens is found by looking.
    public func hints() -> AsyncStream<StoreHint> { AsyncStream { _ in } }
}
