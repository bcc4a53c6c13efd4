/// A change of what becomes of a destination.
public struct OutputChange: Hashable, Sendable {
    public enum State: String, Hashable, Codable, Sendable, CaseIterable {
        case connecting, live, recovering, failed
        /// It is pushed to no more: it was taken away, or the program ended.
        case removed
    }
    public var output: OutputID
    public var state: State
    /// `nil` when nothing was told before.
    public var from: State?
    /// Connections made after the first one.
    public var reconnects: Int
    /// Redacted; `nil` while all is well.
    public var error: String?
    /// What the error is about, for programs.
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

/// Turns what a relay tells of its outputs into changes to tell of: a flapping one not for ever, and the state in which
/// it stays always. Pure.
public struct OutputWatch: Hashable, Sendable {
    private struct Known: Hashable {
        var state: OutputChange.State
        var reconnects: Int
        /// When changes were told, in ns, within the last `window`.
        var told: [Int64]
    }
    private var known: [OutputID: Known] = [:]

    /// Changes of one output within `window`; what comes beyond is told when it has passed, if it is still so.
    public static let mostChanges = 20
    /// In ns.
    public static let window: Int64 = 60_000_000_000

    public init() {}

    /// What is different from what was told last. `now` in ns.
    public mutating func take(_ outputs: [OutputStatus], now: Int64) -> [OutputChange] {
        var changes: [OutputChange] = []
        for output in outputs {
            let state = OutputChange.State(output.state)
            let before = known[output.id]
            if before?.state == state, state != .live || before?.reconnects == output.reconnects { continue }
            // A connection that was lost and made again between two reports was lost all the same.
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

    /// The relay is gone and is started again.
    public mutating func relayLost(_ reason: String, now: Int64) -> [OutputChange] {
        var changes: [OutputChange] = []
        for id in known.keys.sorted() {
            guard let before = known[id], before.state != .recovering else { continue }
            let status = OutputStatus(id: id, state: .recovering, reconnects: before.reconnects, lastError: reason)
            append(.recovering, status, now, to: &changes)
        }
        return changes
    }

    /// The program ended.
    public mutating func ended() -> [OutputChange] { known.keys.sorted().compactMap { remove($0) } }

    private mutating func remove(_ id: OutputID) -> OutputChange? {
        known.removeValue(forKey: id).map {
            OutputChange(output: id, state: .removed, from: $0.state, reconnects: $0.reconnects)
        }
    }

    private mutating func append(
        _ state: OutputChange.State, _ output: OutputStatus, _ now: Int64, to changes: inout [OutputChange]
    ) {
        var told = known[output.id]?.told ?? []
        told.removeAll { now - $0 >= Self.window }
        guard told.count < Self.mostChanges else { return }
        changes.append(
            OutputChange(
                output: output.id, state: state, from: known[output.id]?.state, reconnects: output.reconnects,
                error: state == .live ? nil : output.lastError,
                errorCode: state == .live ? nil : output.lastErrorCode))
        known[output.id] = Known(state: state, reconnects: output.reconnects, told: told + [now])
    }
}

extension OutputChange.State {
    init(_ state: OutputStatus.State) {
        self =
            switch state {
            case .connecting: .connecting
            case .live: .live
            case .recovering: .recovering
            case .failed: .failed
            }
    }
}
