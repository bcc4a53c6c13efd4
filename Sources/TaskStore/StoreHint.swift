import MixModel

/// A hint from another node about a change for which nodes otherwise check periodically.
///
/// A hint may be lost, late or repeated: the change itself is in the store, and nodes that follow hints also check
/// there without them, only later.
public enum StoreHint: String, Hashable, CaseIterable, Sendable {
    /// Rooms wait for a node.
    case rooms
    /// A node is gone: its rooms and its messages wait for another node.
    case departure
    /// Subscriptions were added, changed or removed.
    case subscriptions
    /// Layouts were changed or deleted.
    case layouts
    /// Hints may have been lost, so that anything may have changed.
    case anything
}

extension ClusterStore {
    /// Returns a stream without hints: changes are found by the periodic checks.
    public func hints() -> AsyncStream<StoreHint> { AsyncStream { _ in } }
}
