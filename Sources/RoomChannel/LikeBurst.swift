import MixModel

/// The likes that are yet to be announced. None is lost: the announced likes add up to the total.
struct LikeBurst: Hashable, Sendable {
    /// Likes that are announced at once.
    struct Likes: Hashable {
        var count: Int
        var total: Int64
        /// The sender, if all likes are from one sender.
        var user: UserID?
        var name: String?
    }
    enum Turn: Hashable {
        case nothing
        case now(Likes)
        /// The time, in ns, at which they may be announced.
        case later(Int64)
    }

    /// All likes, including those that wait.
    private(set) var total: Int64 = 0
    private var waiting = 0
    /// Number of announced likes.
    var announced: Int64 { total - Int64(waiting) }
    private var user: UserID?
    private var name: String?
    private var lastAt: Int64?
    private var wakesAt: Int64?

    /// Continues from an earlier total; no likes wait.
    mutating func restore(total: Int64) { self.total = max(total, 0) }

    mutating func add(_ count: Int, of user: UserID?, name: String?) {
        if waiting == 0 {
            (self.user, self.name) = (user, name)
        } else if self.user != user || user == nil {
            (self.user, self.name) = (nil, nil)
        }
        // Saturates, although no room gets 2⁶³ likes.
        let sum = waiting.addingReportingOverflow(count)
        waiting = sum.overflow ? .max : sum.partialValue
        let all = total.addingReportingOverflow(Int64(count))
        total = all.overflow ? .max : all.partialValue
    }

    /// Takes the waiting likes, unless others were announced too recently.
    mutating func take(at now: Int64, perSecond: Int) -> Turn {
        guard waiting > 0 else { return .nothing }
        let interval = 1_000_000_000 / Int64(max(perSecond, 1))
        if let lastAt, now - lastAt < interval {
            // One wake-up is enough for all likes that wait.
            if let wakesAt, wakesAt > now { return .nothing }
            wakesAt = lastAt + interval
            return .later(lastAt + interval)
        }
        defer { (waiting, user, name, lastAt, wakesAt) = (0, nil, nil, now, nil) }
        return .now(Likes(count: waiting, total: total, user: user, name: name))
    }
}
