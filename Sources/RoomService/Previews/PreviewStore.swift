import MixModel

/// What a preview is of.
struct PreviewKey: Hashable, Sendable {
    var task: TaskID
    /// Source; `nil` for the program, or for a task as a whole.
    var source: SourceID?
}

/// Previews that were made lately, and who waits for those that are being made. A value; times are given.
struct PreviewStore<Content: Sendable>: Sendable {
    /// What a request has to do.
    enum Step {
        case take(Result<Content, OrchestratorError>)
        /// Make it, and call `made`.
        case make
        /// Another request makes it.
        case wait
    }

    private struct Entry {
        var content: Result<Content, OrchestratorError>
        var madeAt: ContinuousClock.Instant
    }

    /// Most previews that are kept. The oldest one goes first.
    let most: Int
    /// Time for which one is good enough.
    let interval: Duration
    private var entries: [PreviewKey: Entry] = [:]
    private var inWork: [PreviewKey: [CheckedContinuation<Void, Never>]] = [:]

    init(most: Int, interval: Duration) {
        self.most = most
        self.interval = interval
    }

    var count: Int { entries.count }

    mutating func step(for key: PreviewKey, at now: ContinuousClock.Instant) -> Step {
        if let entry = entries[key], now - entry.madeAt < interval { return .take(entry.content) }
        guard inWork[key] == nil else { return .wait }
        inWork[key] = []
        return .make
    }

    /// Keeps who waits until `made` is called.
    ///
    /// - Returns: False if it has been called already.
    mutating func wait(for key: PreviewKey, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        inWork[key]?.append(continuation) != nil
    }

    /// Last content, however old; `nil` if there is none.
    func last(of key: PreviewKey) -> Content? { try? entries[key]?.content.get() }

    /// Keeps what was made. A failure is kept, too, so that a source that cannot be decoded is not tried with each request.
    ///
    /// - Returns: Those who waited.
    mutating func made(
        _ key: PreviewKey, _ content: Result<Content, OrchestratorError>, at now: ContinuousClock.Instant
    ) -> [CheckedContinuation<Void, Never>] {
        entries[key] = Entry(content: content, madeAt: now)
        if entries.count > most, let oldest = entries.min(by: { $0.value.madeAt < $1.value.madeAt }) {
            entries[oldest.key] = nil
        }
        return inWork.removeValue(forKey: key) ?? []
    }
}
