/// Counts the time in which processes that want to work wait for processors of a busy machine. Pure; times in ns.
struct Starvation: Sendable {
    /// Most of a time that counts as waited for, so that a limit is five times as long at most.
    static let most = 0.8

    private var last: (time: Int64, use: ProcessorUse)?

    init() {}

    /// Returns the time since the last call in which the processes had to wait: 0 for those that are idle, or alone, and
    /// where the use is not known.
    ///
    /// - Parameters:
    ///   - now: Time at which the use was read.
    ///   - use: Use of the processors so far; `nil` = unknown.
    mutating func lacked(at now: Int64, _ use: ProcessorUse?) -> Int64 {
        let before = last
        last = use.map { (now, $0) }
        guard let before, let use, now > before.time else { return 0 }
        let elapsed = Double(now - before.time)
        let (ran, waited) = use.since(before.use)
        guard waited > 0 else { return 0 }
        // Threads that wait side by side do not wait longer than the time that passes.
        let wanted = min(ran + waited, elapsed)
        return Int64(min(wanted * waited / (ran + waited), elapsed * Self.most))
    }

    /// Begins anew with the next call.
    mutating func forget() { last = nil }
}
