/// A change in the state of a destination.
public struct OutputChange: Hashable, Sendable {
    public enum State: String, Hashable, Codable, Sendable, CaseIterable {
        case connecting, live, recovering, failed
        /// The destination is no longer pushed to: it was removed, or the program ended.
        case removed
    }
    public var output: OutputID
    public var state: State
    /// Previous state; `nil` if none was reported before.
    public var from: State?
    /// Number of connections made after the first one.
    public var reconnects: Int
    /// Failure, redacted; `nil` if there is none.
    public var error: String?
    /// Machine-readable code of `error`.
    public var errorCode: OutputErrorCode?

    public init(
        output: OutputID, state: State, from: State?, reconnects: Int = 0, error: String? = nil,
        errorCode: OutputErrorCode? = nil
    ) {
        self.output = output
        self.state = state
        self.from = from
        self.reconnects = reconnects
        self.error = error
        self.errorCode = errorCode
    }
}

/// Turns a relay's reports about its outputs into changes to report. Pure.
///
/// Flapping is limited to `mostChanges` within `window`; the state in which an output stays is always reported.
public struct OutputWatch: Hashable, Sendable {
    private struct Known: Hashable {
        var state: OutputChange.State
        var reconnects: Int
        var limit: WindowLimit
    }
    private var known: [OutputID: Known] = [:]

    /// Maximum number of changes of one output within `window`. A further one is reported when the window has passed,
    /// if it still holds.
    public static let mostChanges = 20
    /// Period over which changes are limited, in nanoseconds.
    public static let window: Int64 = 60_000_000_000

    public init() {}

    /// Returns the changes since the last report. `now` is in nanoseconds.
    public mutating func take(_ outputs: [DestinationStatus], now: Int64) -> [OutputChange] {
        var changes: [OutputChange] = []
        for output in outputs {
            let state = OutputChange.State(output.state)
            let before = known[output.id]
            if before?.state == state, state != .live || before?.reconnects == output.reconnects { continue }
            // A connection that was lost and re-established between two reports counts as lost.
            if state == .live, before?.state == .live {
                append(.recovering, output, now, to: &changes)
            }
            append(state, output, now, to: &changes)
        }
        for id in known.keys.sorted() where !outputs.contains(where: { $0.id == id }) {
            if let change = remove(id) { changes.append(change) }
        }
        return changes
    }

    /// Returns the changes after a relay was lost and is being started again. `now` is in nanoseconds.
    public mutating func relayLost(_ reason: String, now: Int64) -> [OutputChange] {
        var changes: [OutputChange] = []
        for id in known.keys.sorted() {
            guard let before = known[id], before.state != .recovering else { continue }
            let status = DestinationStatus(id: id, state: .recovering, reconnects: before.reconnects, lastError: reason)
            append(.recovering, status, now, to: &changes)
        }
        return changes
    }

    /// Returns the changes after the program has ended.
    public mutating func ended() -> [OutputChange] { known.keys.sorted().compactMap { remove($0) } }

    private mutating func remove(_ id: OutputID) -> OutputChange? {
        known.removeValue(forKey: id).map {
            OutputChange(output: id, state: .removed, from: $0.state, reconnects: $0.reconnects)
        }
    }

    private mutating func append(
        _ state: OutputChange.State, _ output: DestinationStatus, _ now: Int64, to changes: inout [OutputChange]
    ) {
        var limit = known[output.id]?.limit ?? WindowLimit(most: Self.mostChanges, window: Self.window)
        guard limit.take(at: now) else { return }
        changes.append(
            OutputChange(
                output: output.id, state: state, from: known[output.id]?.state, reconnects: output.reconnects,
                error: state == .live ? nil : output.lastError,
                errorCode: state == .live ? nil : output.lastErrorCode))
        known[output.id] = Known(state: state, reconnects: output.reconnects, limit: limit)
    }
}

extension OutputChange.State {
    init(_ state: DestinationStatus.State) {
        self =
            switch state {
            case .connecting: .connecting
            case .live: .live
            case .recovering: .recovering
            case .failed: .failed
            }
    }
}
