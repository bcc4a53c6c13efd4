import EncodedMedia

/// Decides which pages over programs are open. Pure; times in ns of a monotonic clock.
///
/// A page that no program shows stays open for a while, because operators switch layouts back and forth. A page that
/// ended by itself is reopened later, as long as it is wanted.
struct OverlayMachine: Sendable {
    enum Action: Hashable, Sendable {
        case open(OverlayPage)
        case close(OverlayPage)
    }

    private enum Step: Hashable, Sendable {
        /// - Parameter unwantedSince: Time at which the last program stopped showing it; `nil` while a program shows
        ///   it.
        case open(unwantedSince: Int64?)
        /// The page is not opened again before this time.
        case waiting(until: Int64, reason: String)
    }

    static let linger: Int64 = 10_000_000_000
    static let pause: Int64 = 30_000_000_000

    private let most: Int
    private var steps: [OverlayPage: Step] = [:]

    /// - Parameter most: Maximum number of pages open at a time.
    init(most: Int) { self.most = most }

    /// Number of pages that are open.
    var openCount: Int { steps.values.count { if case .open = $0 { true } else { false } } }

    /// The reason why a page is not open; `nil` if it is open, or unknown.
    func reason(_ page: OverlayPage) -> String? {
        if case .waiting(_, let reason)? = steps[page] { reason } else { nil }
    }

    /// Returns the actions that open the wanted pages. Call this when they change, and every few seconds.
    mutating func want(_ wanted: Set<OverlayPage>, now: Int64) -> [Action] {
        var actions: [Action] = []
        for (page, step) in steps where !wanted.contains(page) {
            switch step {
            case .waiting: steps[page] = nil
            case .open(nil): steps[page] = .open(unwantedSince: now)
            case .open(let since?) where now.saturatingDifference(since) >= Self.linger:
                steps[page] = nil
                actions.append(.close(page))
            case .open: break
            }
        }
        // A fixed order, so that the limit always excludes the same pages.
        for page in wanted.sorted(by: { $0.picture < $1.picture }) {
            switch steps[page] {
            case .open: steps[page] = .open(unwantedSince: nil)
            case .waiting(let until, _) where now < until: break
            case .waiting, nil: actions += open(page, now)
            }
        }
        return actions
    }

    private mutating func open(_ page: OverlayPage, _ now: Int64) -> [Action] {
        var actions: [Action] = []
        if openCount >= most {
            // Pages that no program shows are closed at once to make room.
            let unwanted = steps.first { if case .open(.some) = $0.value { true } else { false } }
            guard let unwanted else {
                steps[page] = .waiting(until: now, reason: "the limit is \(most) pages over programs (pages.max)")
                return []
            }
            steps[unwanted.key] = nil
            actions.append(.close(unwanted.key))
        }
        steps[page] = .open(unwantedSince: nil)
        return actions + [.open(page)]
    }

    /// Records that a page cannot be shown, or has ended by itself.
    mutating func failed(_ page: OverlayPage, _ reason: String, now: Int64) {
        guard case .open? = steps[page] else { return }
        steps[page] = .waiting(until: now.saturatingSum(Self.pause), reason: reason)
    }
}
