import MixModel

/// The subject of a preview.
struct PreviewKey: Hashable, Sendable {
    var task: TaskID
    /// Source; `nil` for the program, or for a task as a whole.
    var source: SourceID?
}

/// Recently made previews, and the requests that wait for those being made. A value; times are arguments.
struct PreviewStore<Content: Sendable>: Sendable {
    /// The next step of a request.
    enum Step {
        case take(Result<Content, OrchestratorError>)
        /// Make the preview, then call `made`.
        case make
        /// Wait for another request that is making it.
        case wait
    }

    private struct Entry {
        var content: Result<Content, OrchestratorError>
        var madeAt: ContinuousClock.Instant
    }

    /// Maximum number of previews that are kept. The oldest one is removed first.
    let most: Int
    /// Time for which a preview is reused.
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

    /// Keeps a waiting request until `made` is called.
    ///
    /// - Returns: False if `made` has already been called.
    mutating func wait(for key: PreviewKey, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        inWork[key]?.append(continuation) != nil
    }

    /// The last content, however old; `nil` if there is none.
    func last(of key: PreviewKey) -> Content? { try? entries[key]?.content.get() }

    /// Keeps a result. A failure is kept, too, so that a source that cannot be decoded is not tried at every request.
    ///
    /// - Returns: The requests that waited for it.
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
