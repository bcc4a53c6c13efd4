/// The states of a program's feeds.
///
/// Usually there is one feed, and never more than the participants and mixers of a program. Every frame looks several times at
/// the state of its feed: comparing names costs less than hashing them in a dictionary.
struct SpliceInputStates: Sendable {
    private var entries: [(feed: SpliceInput, state: SpliceInputState)] = []
    /// Place of the feed that was updated last, which is looked at first. May be outdated.
    private var latest = 0

    var count: Int { entries.count }
    var keys: [SpliceInput] { entries.map { $0.feed } }

    /// The state of a feed; `nil` if there is none, and to remove it.
    subscript(feed: SpliceInput) -> SpliceInputState? {
        get { place(of: feed).map { entries[$0].state } }
        set {
            switch (place(of: feed), newValue) {
            case (let place?, let state?): entries[place].state = state
            case (let place?, nil): entries.remove(at: place)
            case (nil, let state?): entries.append((feed, state))
            case (nil, nil): break
            }
        }
    }

    /// Changes the state of a feed in place. A new feed begins with the usual one.
    mutating func update(_ feed: SpliceInput, _ change: (inout SpliceInputState) -> Void) {
        if let place = place(of: feed) {
            latest = place
        } else {
            latest = entries.count
            entries.append((feed, SpliceInputState()))
        }
        change(&entries[latest].state)
    }

    private func place(of feed: SpliceInput) -> Int? {
        if latest < entries.count, entries[latest].feed == feed { return latest }
        return entries.firstIndex { $0.feed == feed }
    }
}
