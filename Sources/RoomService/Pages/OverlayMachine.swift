import EncodedMedia

/// Decides which pages over programs are open. Pure; times in ns of a monotonic clock.
///
/// A page that no program shows stays open for some time, because layouts are switched to and fro. One that has ended by itself
/// is opened again later, as long as it is wanted.
struct OverlayMachine: Sendable {
    enum Action: Hashable, Sendable {
        case open(OverlayPage)
        case close(OverlayPage)
    }

    private enum Step: Hashable, Sendable {
        /// - Parameter unwantedSince: When the last program stopped showing it.
        case open(unwantedSince: Int64?)
        /// Cannot be opened until then.
        case waiting(until: Int64, reason: String)
    }

    static let linger: Int64 = 10_000_000_000
    static let pause: Int64 = 30_000_000_000

    private let most: Int
    private var steps: [OverlayPage: Step] = [:]

    /// - Parameter most: Most pages that are open at a time.
    init(most: Int) { self.most = most }

    /// Number of pages that are open.
    var openCount: Int { steps.values.count { if case .open = $0 { true } else { false } } }

    /// The reason why a page is not open; `nil` if it is, or is not known.
    func reason(_ page: OverlayPage) -> String? {
        if case .waiting(_, let reason)? = steps[page] { reason } else { nil }
    }

    /// Returns what to do so that the wanted pages are open. Call this when they change, and every few seconds.
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
        // An order, so that the limit always meets the same ones.
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
            // Those that nobody shows give way at once.
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

    /// Notes that a page cannot be shown, or has ended by itself.
    mutating func failed(_ page: OverlayPage, _ reason: String, now: Int64) {
        guard case .open? = steps[page] else { return }
        steps[page] = .waiting(until: now.saturatingSum(Self.pause), reason: reason)
    }
}
