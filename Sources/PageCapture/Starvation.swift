/// Counts the time in which runnable processes wait for the CPUs of a busy machine. Pure; times in ns.
struct Starvation: Sendable {
    /// Largest fraction of a time that counts as waiting, so that a limit becomes at most five times as long.
    static let most = 0.8

    private var last: (time: Int64, use: ProcessorUse)?

    init() {}

    /// Returns the time since the last call in which the processes had to wait: 0 if they are idle or have the machine
    /// to themselves, and if the use is unknown.
    ///
    /// - Parameters:
    ///   - now: Time at which the use was read.
    ///   - use: CPU use so far; `nil` means unknown.
    ///   - cores: Number of cores to which the processes are limited; 0 means no limit. What these cores did for the processes
    ///     was not withheld by the machine: their own threads wait for each other there.
    mutating func lacked(at now: Int64, _ use: ProcessorUse?, cores: Int = 0) -> Int64 {
        let before = last
        last = use.map { (now, $0) }
        guard let before, let use, now > before.time else { return 0 }
        let elapsed = Double(now - before.time)
        let (ran, waited) = use.since(before.use)
        guard waited > 0 else { return 0 }
        // Threads that wait in parallel do not wait longer than the elapsed time.
        let wanted = min(ran + waited, elapsed)
        let withheld = cores > 0 ? max(elapsed - ran / Double(cores), 0) : elapsed
        return Int64(min(wanted * waited / (ran + waited), elapsed * Self.most, withheld))
    }

    /// Forgets the last reading; the next call starts a new measurement.
    mutating func forget() { last = nil }
}
