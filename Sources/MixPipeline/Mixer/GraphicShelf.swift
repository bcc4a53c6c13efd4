/// The graphics that a mix has, and those that it waits for.
///
/// Pure. What is asked for is ordered once; what nobody has asked for lately is kept as long as there is room.
struct GraphicShelf: Sendable {
    private enum State {
        case ordered
        case there(Still)
        /// It cannot be made.
        case failed
    }
    private struct Entry {
        var state: State
        /// The last frame of the canvas that asked for it.
        var used: Int64
    }

    /// Bytes of what nobody asks for at the moment: a few scenes that come again.
    static let spareBytes = 32 << 20

    /// Frames of the canvas after which an order that nobody repeats is void.
    static let patience: Int64 = 30

    private var entries: [Graphic: Entry] = [:]
    /// What nobody draws yet, oldest first.
    private var orders: [Graphic] = []

    /// What is there of it; orders it if it is not known.
    ///
    /// - Parameter tick: The frame of the canvas that asks.
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

    /// Whether it was ordered and its delivery is due.
    func isAwaited(_ graphic: Graphic) -> Bool {
        if case .ordered = entries[graphic]?.state { true } else { false }
    }

    func hasFailed(_ graphic: Graphic) -> Bool {
        if case .failed = entries[graphic]?.state { true } else { false }
    }

    var hasOrders: Bool { !orders.isEmpty }

    /// The next graphic to draw. Orders that were not repeated lately, of scenes that are past, are dropped.
    mutating func takeOrder() -> Graphic? {
        let latest = entries.values.lazy.map(\.used).max() ?? 0
        while !orders.isEmpty {
            let order = orders.removeFirst()
            if let entry = entries[order], latest - entry.used <= Self.patience { return order }
            entries[order] = nil
        }
        return nil
    }

    /// - Parameter still: `nil` if it cannot be made.
    mutating func deliver(_ still: Still?, for graphic: Graphic) {
        entries[graphic]?.state = still.map { .there($0) } ?? .failed
    }

    /// Lets go of what was used longest ago, beyond `spareBytes` of what no frame since `tick` has asked for, and of
    /// every time that clocks have shown. What failed is forgotten with its last use, so that a later scene tries it
    /// again.
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

    /// Graphics that are held or awaited.
    var count: Int { entries.count }

    /// Of everything that is held.
    var byteCount: Int {
        entries.values.reduce(0) { sum, entry in
            if case .there(let still) = entry.state { sum + still.byteCount } else { sum }
        }
    }
}
