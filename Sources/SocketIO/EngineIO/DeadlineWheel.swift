/// A timing wheel: items with deadlines, sorted into slots of one tick.
///
/// Moving a deadline later costs nothing: the item is found at its earlier deadline, and put back. One wheel serves all
/// connections in place of a timer for each.
public struct DeadlineWheel<Item: Hashable & Sendable>: Sendable {
    /// Length of a tick, in the unit of the times.
    private let tick: Int64
    private var slots: [Int64: Set<Item>] = [:]
    /// The slot of each item.
    private var places: [Item: Int64] = [:]
    /// The first slot that has not been taken.
    private var next: Int64

    public init(tick: Int64, now: Int64) {
        self.tick = max(1, tick)
        next = now / max(1, tick)
    }

    public var count: Int { places.count }

    /// Ensures that an item is found at the first tick after a time, or before.
    public mutating func put(_ item: Item, at time: Int64) {
        let slot = max(next, time / tick + 1)
        if let place = places[item] {
            guard slot < place else { return }
            leave(item, place)
        }
        places[item] = slot
        slots[slot, default: []].insert(item)
    }

    public mutating func remove(_ item: Item) {
        if let place = places.removeValue(forKey: item) { leave(item, place) }
    }

    /// Removes and returns the items that may be due.
    public mutating func take(now: Int64) -> [Item] {
        let last = now / tick
        guard last >= next else { return [] }
        // After a long pause, there are more ticks than slots.
        let due = last - next < Int64(slots.count) ? Array(next...last) : slots.keys.filter { $0 <= last }.sorted()
        next = last + 1
        var items: [Item] = []
        for slot in due { items += slots.removeValue(forKey: slot) ?? [] }
        for item in items { places[item] = nil }
        return items
    }

    private mutating func leave(_ item: Item, _ place: Int64) {
        slots[place]?.remove(item)
        if slots[place]?.isEmpty == true { slots[place] = nil }
    }
}
