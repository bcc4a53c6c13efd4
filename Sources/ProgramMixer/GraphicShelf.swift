/// The graphics of a mix, and those for which it waits. Pure.
///
/// A requested graphic is ordered once. Graphics that no frame has requested recently are kept as long as there is
/// room.
struct GraphicShelf: Sendable {
    private enum State {
        case ordered
        case there(Still)
        /// The graphic cannot be drawn.
        case failed
    }
    private struct Entry {
        var state: State
        /// The last frame of the canvas that requested it.
        var used: Int64
    }

    /// Largest size of cached unused graphics, in bytes: enough for a few scenes that return.
    static let spareBytes = 32 << 20

    /// Number of canvas frames after which an order that is not repeated expires.
    static let patience: Int64 = 30

    private var entries: [Graphic: Entry] = [:]
    /// Orders that are not yet being drawn, oldest first.
    private var orders: [Graphic] = []

    /// Returns the drawn graphic, if there is one. Orders an unknown graphic.
    ///
    /// - Parameter tick: The canvas frame that requests it.
    mutating func still(_ graphic: Graphic, tick: Int64) -> Still? {
        guard let entry = entries[graphic] else {
            entries[graphic] = Entry(state: .ordered, used: tick)
            orders.append(graphic)
            return nil
        }
        entries[graphic]?.used = max(entry.used, tick)
        if case .there(let still) = entry.state { return still }
        return nil
    }

    /// Returns whether the graphic was ordered and has not been delivered.
    func isAwaited(_ graphic: Graphic) -> Bool {
        if case .ordered = entries[graphic]?.state { true } else { false }
    }

    func hasFailed(_ graphic: Graphic) -> Bool {
        if case .failed = entries[graphic]?.state { true } else { false }
    }

    var hasOrders: Bool { !orders.isEmpty }

    /// The pictures of pages that frames have requested recently.
    var pages: [Graphic] {
        let shown = entries.filter { if case .page = $0.key { true } else { false } }
        guard !shown.isEmpty else { return [] }
        let latest = entries.values.lazy.map(\.used).max() ?? 0
        return shown.filter { latest - $0.value.used <= Self.patience }.map(\.key)
    }

    /// Returns and removes the next graphic to draw. Drops orders that were not repeated recently, because their scenes
    /// are no longer shown.
    mutating func takeOrder() -> Graphic? {
        let latest = entries.values.lazy.map(\.used).max() ?? 0
        while !orders.isEmpty {
            let order = orders.removeFirst()
            if let entry = entries[order], latest - entry.used <= Self.patience { return order }
            entries[order] = nil
        }
        return nil
    }

    /// Stores the result of an order.
    /// - Parameter still: The drawn graphic; `nil` if it cannot be drawn.
    mutating func deliver(_ still: Still?, for graphic: Graphic) {
        entries[graphic]?.state = still.map { .there($0) } ?? .failed
    }

    /// Drops graphics that no frame since `tick` has requested.
    ///
    /// Drops the least recently used ones beyond `spareBytes`, and all past times of clocks. Failures are removed once
    /// unused, so that a later scene tries them again.
    mutating func sweep(unusedSince tick: Int64) {
        var spare = 0
        for (graphic, entry) in entries.filter({ $0.value.used < tick }).sorted(by: { $0.value.used > $1.value.used }) {
            switch entry.state {
            case .ordered: continue
            case .failed: entries[graphic] = nil
            case .there(let still):
                spare += still.byteCount
                if spare > Self.spareBytes || graphic.isPassing { entries[graphic] = nil }
            }
        }
    }

    /// Number of graphics that are held or awaited.
    var count: Int { entries.count }

    /// Total size of the graphics held, in bytes.
    var byteCount: Int {
        entries.values.reduce(0) { sum, entry in
            if case .there(let still) = entry.state { sum + still.byteCount } else { sum }
        }
    }
}
