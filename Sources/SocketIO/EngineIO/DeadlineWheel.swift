/// Things that have something to do at a time, ordered by it to a tick.
///
/// Moving a deadline later costs nothing: the thing is found at its earlier one, and is put back. There is one wheel for all
/// connections in place of a timer for each.
public struct DeadlineWheel<Item: Hashable & Sendable>: Sendable {
    /// Length of a tick, in the unit of the times.
    private let tick: Int64
    private var slots: [Int64: Set<Item>] = [:]
    /// The slot of each thing.
    private var places: [Item: Int64] = [:]
    /// The first slot that has not been taken.
    private var next: Int64

    public init(tick: Int64, now: Int64) {
        self.tick = max(1, tick)
        next = now / max(1, tick)
    }

    public var count: Int { places.count }

    /// Makes sure that a thing is found at the first tick behind a time, or before.
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

    /// Takes out what may be due.
    public mutating func take(now: Int64) -> [Item] {
        let last = now / tick
        guard last >= next else { return [] }
        // After a long pause there are more ticks than slots.
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
