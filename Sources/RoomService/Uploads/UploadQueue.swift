/// The files that are being uploaded to one target, or wait for it: a bounded queue in the order of arrival. Pure:
/// times go in, files come out.
struct UploadQueue: Sendable {
    enum Offer: Hashable { case taken, known, full }

    private enum State: Hashable {
        /// Waits for its turn. Lower numbers come first.
        case waiting(Int)
        case running
        /// The last attempt failed; the file waits until this time, in ns.
        case delayed(until: Int64)
    }
    private struct Entry {
        var item: UploadItem
        var state: State
    }

    /// Maximum number of files.
    private let most: Int
    private var entries: [String: Entry] = [:]
    private var arrivals = 0

    init(most: Int) { self.most = most }

    /// Adds a file, unless it is already in the queue.
    mutating func offer(_ item: UploadItem) -> Offer {
        guard entries[item.path] == nil else { return .known }
        guard entries.count < most else { return .full }
        arrivals += 1
        entries[item.path] = Entry(item: item, state: .waiting(arrivals))
        return .taken
    }

    /// Takes files that are due.
    ///
    /// - Parameter now: Time in ns.
    mutating func take(_ count: Int, now: Int64) -> [UploadItem] {
        guard count > 0 else { return [] }
        // Files that failed come after new ones.
        let due = entries.compactMap { path, entry -> (order: Int64, path: String)? in
            switch entry.state {
            case .waiting(let number): (Int64.min + Int64(number), path)
            case .delayed(let until): until <= now ? (until, path) : nil
            case .running: nil
            }
        }.sorted { $0.order < $1.order }.prefix(count)
        return due.compactMap { _, path in
            entries[path]?.state = .running
            return entries[path]?.item
        }
    }

    /// Postpones a running file until a time, in ns.
    mutating func delay(_ item: UploadItem, until time: Int64) { entries[item.path]?.state = .delayed(until: time) }

    mutating func finish(_ item: UploadItem) { entries[item.path] = nil }

    /// Time at which the next file is due, in ns; `nil` while none waits.
    var nextDue: Int64? {
        entries.values.compactMap { entry in
            switch entry.state {
            case .waiting: Int64.min
            case .delayed(let until): until
            case .running: nil
            }
        }.min()
    }

    func isRunning(_ path: String) -> Bool { entries[path]?.state == .running }

    var count: Int { entries.count }

    /// Number of files by state, with the states' names in metrics.
    var counts: [String: Int] {
        entries.values.reduce(into: ["waiting": 0, "uploading": 0, "retrying": 0]) { counts, entry in
            switch entry.state {
            case .waiting: counts["waiting", default: 0] += 1
            case .running: counts["uploading", default: 0] += 1
            case .delayed: counts["retrying", default: 0] += 1
            }
        }
    }
}
