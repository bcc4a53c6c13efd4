import MixModel

/// Users who may not send messages. Limited in number; ended mutes are removed.
struct ChannelMutes: Hashable, Sendable {
    /// Times until which users are muted, in ns; `.max` = indefinitely.
    private var until: [UserID: Int64] = [:]

    static let mostUsers = 1000
    /// Longest limited mute, in seconds: a year.
    static let longest = 366 * 86_400

    mutating func add(_ user: UserID, for seconds: Int?, now: Int64) throws(ChannelRefusal) {
        if let seconds, !(1...Self.longest ~= seconds) {
            throw .badRules("A mute takes 1 to \(Self.longest) seconds.")
        }
        until = until.filter { $0.value > now }
        guard until[user] != nil || until.count < Self.mostUsers else { throw .tooManyMuted(Self.mostUsers) }
        until[user] = seconds.map { now + Int64($0) * 1_000_000_000 } ?? .max
    }

    mutating func remove(_ user: UserID, now: Int64) -> Bool { (until.removeValue(forKey: user) ?? .min) > now }

    /// - Returns: `nil` if the user is not muted; `.some(nil)` if the mute has no end.
    func secondsLeft(of user: UserID?, at now: Int64) -> Int?? {
        guard let user, let end = until[user], end > now else { return .none }
        return .some(end == .max ? nil : SenderRates.seconds(end - now))
    }

    /// Returns the mutes in order, with their ends in ms since 1970.
    ///
    /// - Parameter wallClock: The time `now` in µs since 1970.
    func remembered(at now: Int64, wallClock: Int64) -> [ChannelMemory.Mute] {
        until.filter { $0.value > now }.sorted { $0.key < $1.key }.map { user, end in
            ChannelMemory.Mute(user: user, until: end == .max ? nil : wallClock / 1000 + (end - now) / 1_000_000)
        }
    }

    /// Restores mutes that have not ended, as many as fit.
    mutating func restore(_ mutes: [ChannelMemory.Mute], now: Int64, wallClock: Int64) {
        for mute in mutes.prefix(Self.mostUsers) {
            guard let end = mute.until else {
                until[mute.user] = .max
                continue
            }
            let left = end.subtractingReportingOverflow(wallClock / 1000)
            guard !left.overflow, left.partialValue > 0 else { continue }
            until[mute.user] = now + min(left.partialValue, Int64(Self.longest) * 1000) * 1_000_000
        }
    }

    /// Returns the muted users in order.
    func list(at now: Int64) -> [(user: UserID, secondsLeft: Int?)] {
        until.keys.sorted().compactMap { user in secondsLeft(of: user, at: now).map { (user, $0) } }
    }
}
