/// The wanted images, the copies of them, and the times of their next checks. Pure: times are ns of any clock.
struct ImageInventory: Sendable {
    /// A checked image on disk.
    struct Copy: Hashable, Codable, Sendable {
        /// Name of the file in the store's directory, derived from the content, so that new content is a new file.
        var file: String
        var bytes: Int
        var validators: FileFetch.Validators?
    }

    /// The state of one image.
    struct Item: Hashable, Sendable {
        var copy: Copy?
        /// Failure of the last check. `nil` if it succeeded.
        var failure: String?
        fileprivate var failuresInARow = 0
        fileprivate var nextCheck: Int64 = 0
        fileprivate var isBeingChecked = false
        /// Whether another check was requested during the current one.
        fileprivate var isOutdated = false
    }

    /// Intervals between checks, in ns.
    struct Schedule: Hashable, Sendable {
        /// Interval between two checks of an image that has a copy.
        var recheck: Int64 = 600_000_000_000
        /// Delay after the first failure. It doubles with each further failure, up to `longestRetry`.
        var firstRetry: Int64 = 2_000_000_000
        var longestRetry: Int64 = 300_000_000_000
    }

    /// Maximum number of images of all layouts, and separately of all programs. Excess images, in alphabetical order,
    /// are not fetched.
    static let most = 256
    /// Maximum number of images checked at once.
    static let mostAtOnce = 4

    private(set) var items: [String: Item] = [:]
    private(set) var wanted: Set<String> = []
    let schedule: Schedule

    init(schedule: Schedule = Schedule()) { self.schedule = schedule }

    /// The images that can be shown: files of the copies by reference.
    var files: [String: String] { items.compactMapValues { $0.copy?.file } }
    /// Number of wanted images whose last check failed.
    var failedCount: Int { wanted.count { items[$0]?.failure != nil } }
    /// Files of wanted images, which must not be removed.
    var filesInUse: Set<String> { Set(wanted.compactMap { items[$0]?.copy?.file }) }

    /// Adds a copy from before a restart. It can be shown at once and is checked soon.
    mutating func remember(_ reference: String, _ copy: Copy) { items[reference] = Item(copy: copy) }

    /// Adds a copy of an image that is about to be wanted.
    mutating func provide(_ reference: String, _ copy: Copy, now: Int64) {
        if items[reference] == nil { items[reference] = Item() }
        guard items[reference]?.isBeingChecked == false else { return }
        _ = succeeded(reference, copy, now: now)
    }

    /// Replaces the wanted images.
    ///
    /// - Returns: The references in excess of `most`.
    mutating func want(_ references: Set<String>, ofPrograms others: Set<String> = []) -> [String] {
        let (sorted, beside) = (references.sorted(), others.subtracting(references).sorted())
        let before = wanted
        wanted = Set(sorted.prefix(Self.most)).union(beside.prefix(Self.most))
        for reference in wanted.subtracting(before) {
            // The layouts and programs that want it now have not been told of the failure.
            items[reference, default: Item()].failure = nil
        }
        // An image that is neither wanted nor copied needs no item.
        items = items.filter { $0.value.copy != nil || $0.value.isBeingChecked || wanted.contains($0.key) }
        return Array(sorted.dropFirst(Self.most)) + beside.dropFirst(Self.most)
    }

    /// Makes a check of an image due at once, because it is known to have changed.
    mutating func outdate(_ reference: String) {
        guard var item = items[reference] else { return }
        item.nextCheck = 0
        item.isOutdated = item.isBeingChecked
        items[reference] = item
    }

    /// Returns the images whose check is due. They count as being checked until `succeeded` or `failed`.
    mutating func takeDue(now: Int64) -> [String] {
        let room = max(0, Self.mostAtOnce - items.values.count { $0.isBeingChecked })
        let due = wanted.filter { reference in
            items[reference].map { !$0.isBeingChecked && $0.nextCheck <= now } ?? false
        }
        // Images without a copy come first.
        let ordered = due.sorted { left, right in
            let (hasLeft, hasRight) = (items[left]?.copy != nil, items[right]?.copy != nil)
            return hasLeft != hasRight ? hasRight : left < right
        }
        let taken = Array(ordered.prefix(room))
        for reference in taken { items[reference]?.isBeingChecked = true }
        return taken
    }

    /// Starts a check of an image, whether or not it is due.
    ///
    /// - Returns: False if the image is unknown or being checked.
    mutating func take(_ reference: String) -> Bool {
        guard let item = items[reference], !item.isBeingChecked else { return false }
        items[reference]?.isBeingChecked = true
        return true
    }

    /// Records a successful check.
    ///
    /// - Parameter copy: The new copy. `nil` = the existing copy is still valid.
    /// - Returns: Whether the image that can be shown has changed, or the last check failed.
    mutating func succeeded(_ reference: String, _ copy: Copy?, now: Int64) -> Bool {
        guard var item = items[reference] else { return false }
        let (before, hadFailed) = (item.copy?.file, item.failure != nil)
        item.copy = copy ?? item.copy
        item.failure = nil
        item.failuresInARow = 0
        settle(&item, next: now + schedule.recheck)
        items[reference] = item
        return item.copy?.file != before || hadFailed
    }

    /// Records a failed check and schedules the next one.
    ///
    /// - Returns: Whether the reason differs from that of the last failure.
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

    /// Records that a file is no longer on disk.
    mutating func forget(file: String) {
        for (reference, item) in items where item.copy?.file == file { items[reference]?.copy = nil }
    }

    /// Returns the files to remove so that the rest fits into `limit` bytes: least recently used first, never one in
    /// use.
    ///
    /// - Parameter files: All files on disk, with their sizes in bytes and the times of their last use.
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
