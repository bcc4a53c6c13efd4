/// Turns a relay's reports about its outputs into timeline entries. Pure.
///
/// Each change is recorded once. A flapping output is limited to `mostLines` entries within `window`.
public struct OutputJournal: Hashable, Sendable {
    private struct Known: Hashable {
        var state: DestinationStatus.State?
        var reconnects = 0
        var limit = WindowLimit(most: OutputJournal.mostLines, window: OutputJournal.window)
        /// Number of changes since the last entry, for which the limit permitted none.
        var omitted = 0
    }
    private var known: [OutputID: Known] = [:]

    /// Maximum number of entries for one output within `window`.
    public static let mostLines = 10
    /// Period over which entries are limited, in nanoseconds.
    public static let window: Int64 = 60_000_000_000

    public init() {}

    /// Returns an entry for each change since the previous status. `now` is in nanoseconds.
    public mutating func take(_ outputs: [DestinationStatus], causes: [CauseID]?, now: Int64) -> [TimelineEntry] {
        var entries: [TimelineEntry] = []
        for output in outputs {
            var known = known[output.id] ?? Known()
            if let change = Self.change(from: known, to: output) {
                if known.limit.take(at: now) {
                    let gap = known.omitted > 0 ? " (\(known.omitted) earlier changes omitted)" : ""
                    known.omitted = 0
                    entries.append(
                        TimelineEntry(
                            kind: .output, message: "output \(output.id): \(change)\(gap)", causes: causes))
                } else {
                    known.omitted += 1
                }
            }
            known.state = output.state
            known.reconnects = output.reconnects
            self.known[output.id] = known
        }
        for id in known.keys.sorted() where !outputs.contains(where: { $0.id == id }) {
            known[id] = nil
            entries.append(TimelineEntry(kind: .output, message: "output \(id): closed", causes: causes))
        }
        return entries
    }

    /// Describes the change in words; returns `nil` if there is none. The first attempt to connect is not reported.
    private static func change(from known: Known, to output: DestinationStatus) -> String? {
        if known.state == output.state {
            return output.state == .live && output.reconnects > known.reconnects
                ? "reconnected, \(output.reconnects) times so far" : nil
        }
        if known.state == nil, output.state == .connecting { return nil }
        let states = (known.state.map { "\($0.rawValue) → " } ?? "") + output.state.rawValue
        guard output.state != .live, let error = output.lastError else { return states }
        return "\(states): \(error)"
    }
}
