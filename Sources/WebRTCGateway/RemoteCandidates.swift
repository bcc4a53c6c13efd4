import MixModel

/// The candidates of the peer. Those that arrive before this side has a description wait for it. Pure.
struct RemoteCandidates: Sendable {
    /// Largest number of candidates.
    static let most = 64

    private var count = 0
    private var waiting: [String] = []
    private var isDescribed = false

    /// Returns the candidates in a fragment of a session description to add now. Candidates beyond the limit, and
    /// fragments that are too long, are ignored.
    mutating func take(_ fragment: String) -> [String] {
        guard fragment.utf8.count <= WebRTCCommand.longestFragment else { return [] }
        let found = ICECandidate.all(in: fragment, limit: Self.most - count).map(\.text)
        count += found.count
        if isDescribed { return found }
        waiting += found
        return []
    }

    /// Forgets the candidates of the time before an ICE restart.
    mutating func restart() {
        count = 0
        waiting = []
    }

    /// Records that this side has a description, and returns the candidates that have waited for it.
    mutating func described() -> [String] {
        isDescribed = true
        defer { waiting = [] }
        return waiting
    }
}
