import Foundation

/// Settings of the calling process that affect itself and its children.
public enum OwnProcess {
    /// Prepares for starting workers of all kinds, which apply their own limits.
    public static func prepareForChildren() {
        setMemoryShortage(WorkerKind.relay.memoryShortage)
        lower(RLIMIT_CORE, to: 0)
    }

    /// Applies the limits of a kind of worker to this process.
    ///
    /// Call it while the process has one thread: niceness belongs to threads, and new ones inherit it. Settings that
    /// the system refuses stay unchanged.
    public static func become(_ kind: WorkerKind, limits: WorkerLimits) {
        setMemoryShortage(kind.memoryShortage)
        // A service to which an operator has given a higher niceness keeps it, with all its workers.
        niceness = max(niceness, kind.niceness)
        // Counts the process's own writable memory: heaps and stacks, but neither reserved address space nor mapped
        // files.
        if let bytes = limits.bytes(of: kind) { lower(RLIMIT_DATA, to: rlim_t(bytes)) }
        if let descriptors = kind.descriptors { lower(RLIMIT_NOFILE, to: rlim_t(descriptors)) }
        // A core file would contain participants' pictures, and writing gigabytes would delay the next process.
        lower(RLIMIT_CORE, to: 0)
    }

    /// Sets `oom_score_adj`: -1000 (never killed when memory is short) to 1000 (first). Lowering it needs a privilege.
    /// - Returns: Whether it is set.
    @discardableResult public static func setMemoryShortage(_ value: Int) -> Bool {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        let text = Array("\(value)".utf8)
        return write(file, text, text.count) == text.count
    }

    /// Gives the calling thread priority over others of its process, and over other programs of the same niceness, as
    /// far as permitted.
    public static func favourThread() { niceness -= 4 }

    /// Niceness of the calling thread, -20 to 19. A change that the system refuses has no effect.
    private static var niceness: Int32 {
        get { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        set { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, newValue) }
    }

    /// Lowers a limit, soft and hard, unless it is lower already.
    private static func lower(_ resource: __rlimit_resource, to value: rlim_t) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return }
        limit.rlim_max = min(limit.rlim_max, value)
        limit.rlim_cur = min(limit.rlim_cur, limit.rlim_max)
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }
}
