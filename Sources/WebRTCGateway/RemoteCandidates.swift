import MixModel

/// The candidates of the other side. Those that come before this side has a description wait for it. Pure.
struct RemoteCandidates: Sendable {
    /// Candidates that are taken at most.
    static let most = 64

    private var count = 0
    private var waiting: [String] = []
    private var isDescribed = false

    /// Returns the candidates in a fragment of a session description that are to be added now. Those beyond the limit, and
    /// fragments that are too long, are left out.
    mutating func take(_ fragment: String) -> [String] {
        guard fragment.utf8.count <= WebRTCCommand.longestFragment else { return [] }
        let found = ICECandidate.all(in: fragment, limit: Self.most - count).map(\.text)
        count += found.count
        if isDescribed { return found }
        waiting += found
        return []
    }

    /// Notes that this side has a description, and returns the candidates that have waited for it.
    mutating func described() -> [String] {
        isDescribed = true
        defer { waiting = [] }
        return waiting
    }
}
