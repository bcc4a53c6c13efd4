/// Which images are wanted, which are there, and which are to be looked at when. Pure: points in time are ns of any clock.
struct ImageLedger: Sendable {
    /// A checked image on disk.
    struct Copy: Hashable, Codable, Sendable {
        /// In the store's directory; named after the content, so that another content is another file.
        var file: String
        var bytes: Int
        var validators: ImageFetch.Validators?
    }

    /// How one image is.
    struct Item: Hashable, Sendable {
        var copy: Copy?
        /// Why the last try came to nothing; `nil` after one that did not.
        var failure: String?
        fileprivate var failuresInARow = 0
        fileprivate var nextCheck: Int64 = 0
        fileprivate var isBeingChecked = false
        /// Asked for again while it is being checked.
        fileprivate var isOutdated = false
    }

    /// When things are done, in ns.
    struct Schedule: Hashable, Sendable {
        /// Between two looks at an image that is there.
        var recheck: Int64 = 600_000_000_000
        /// After the first failure; doubles with each one.
        var firstRetry: Int64 = 2_000_000_000
        var longestRetry: Int64 = 300_000_000_000
    }

    /// Most images that layouts may want at once, and as many that programs may; those beyond, in alphabetical order, are not fetched.
    static let most = 256
    /// Most that are fetched at once.
    static let mostAtOnce = 4

    private(set) var items: [String: Item] = [:]
    private(set) var wanted: Set<String> = []
    let schedule: Schedule

    init(schedule: Schedule = Schedule()) { self.schedule = schedule }

    /// What can be shown: the copies' files by reference.
    var files: [String: String] { items.compactMapValues { $0.copy?.file } }
    /// Of the wanted ones.
    var failedCount: Int { wanted.count { items[$0]?.failure != nil } }
    /// Files that must not be removed.
    var filesInUse: Set<String> { Set(wanted.compactMap { items[$0]?.copy?.file }) }

    /// A copy from before a restart: shown at once, looked at soon.
    mutating func remember(_ reference: String, _ copy: Copy) { items[reference] = Item(copy: copy) }

    /// - Returns: References that are beyond `most`.
    mutating func want(_ references: Set<String>, ofPrograms others: Set<String> = []) -> [String] {
        let (sorted, beside) = (references.sorted(), others.subtracting(references).sorted())
        wanted = Set(sorted.prefix(Self.most)).union(beside.prefix(Self.most))
        for reference in wanted where items[reference] == nil { items[reference] = Item() }
        // What nobody wants and is not there is nothing to remember.
        items = items.filter { $0.value.copy != nil || $0.value.isBeingChecked || wanted.contains($0.key) }
        return Array(sorted.dropFirst(Self.most)) + beside.dropFirst(Self.most)
    }

    /// Something is known to be different: look at it as soon as possible.
    mutating func outdate(_ reference: String) {
        guard var item = items[reference] else { return }
        item.nextCheck = 0
        item.isOutdated = item.isBeingChecked
        items[reference] = item
    }

    /// What has to be looked at now; counts as being looked at until `succeeded` or `failed`.
    mutating func takeDue(now: Int64) -> [String] {
        let room = max(0, Self.mostAtOnce - items.values.count { $0.isBeingChecked })
        let due = wanted.filter { reference in
            items[reference].map { !$0.isBeingChecked && $0.nextCheck <= now } ?? false
        }
        // Those without a copy first.
        let ordered = due.sorted { left, right in
            let (hasLeft, hasRight) = (items[left]?.copy != nil, items[right]?.copy != nil)
            return hasLeft != hasRight ? hasRight : left < right
        }
        let taken = Array(ordered.prefix(room))
        for reference in taken { items[reference]?.isBeingChecked = true }
        return taken
    }

    /// Takes one that is not being looked at, whenever it is due.
    mutating func take(_ reference: String) -> Bool {
        guard let item = items[reference], !item.isBeingChecked else { return false }
        items[reference]?.isBeingChecked = true
        return true
    }

    /// - Parameter copy: `nil` = the one that was there is good.
    /// - Returns: Whether what can be shown is different.
    mutating func succeeded(_ reference: String, _ copy: Copy?, now: Int64) -> Bool {
        guard var item = items[reference] else { return false }
        let before = item.copy?.file
        item.copy = copy ?? item.copy
        item.failure = nil
        item.failuresInARow = 0
        settle(&item, next: now + schedule.recheck)
        items[reference] = item
        return item.copy?.file != before
    }

    /// - Returns: Whether that is news: the same reason again and again is not.
    mutating func failed(_ reference: String, _ reason: String, now: Int64) -> Bool {
        guard var item = items[reference] else { return false }
        let isNews = item.failure != reason
        item.failure = reason
        let delay = min(schedule.firstRetry << Int64(min(item.failuresInARow, 20)), schedule.longestRetry)
        item.failuresInARow += 1
        settle(&item, next: now + delay)
        items[reference] = item
        return isNews
    }

    private func settle(_ item: inout Item, next: Int64) {
        item.isBeingChecked = false
        item.nextCheck = item.isOutdated ? 0 : next
        item.isOutdated = false
    }

    /// The file is not on disk any more.
    mutating func forget(file: String) {
        for (reference, item) in items where item.copy?.file == file { items[reference]?.copy = nil }
    }

    /// What to remove so that the files fit into `limit` bytes: the longest unused first, never one in use.
    ///
    /// - Parameter files: All on disk, with their last use.
    func evictions(_ files: [(name: String, bytes: Int, lastUse: Int64)], limit: Int) -> [String] {
        var total = files.reduce(0) { $0 + $1.bytes }
        let inUse = filesInUse
        var gone: [String] = []
        for file in files.sorted(by: { ($0.lastUse, $0.name) < ($1.lastUse, $1.name) }) where total > limit {
            guard !inUse.contains(file.name) else { continue }
            gone.append(file.name)
            total -= file.bytes
        }
        return gone
    }
}
