import EncodedMedia
import MixModel

/// The rates at which senders send in a room. A limited number of senders is remembered.
struct SenderRates: Hashable, Sendable {
    private enum Key: Hashable {
        case user(UserID)
        case address(String)
    }
    private struct Sender: Hashable {
        var bucket: TokenBucket
        /// Time of the last comment or gift.
        var wroteAt: Int64?
    }
    private var senders: [Key: Sender] = [:]
    private var room: TokenBucket

    static let mostSenders = 4096

    init(_ rules: ChannelRules, now: Int64) {
        room = TokenBucket(rate: rules.roomRate, burst: Double(rules.roomBurst), now: now)
    }

    var count: Int { senders.count }

    /// Counts one message of a sender. A refused message is not counted.
    mutating func take(
        _ kind: ChannelMessage.Kind, from sender: ChannelSender, _ rules: ChannelRules, at now: Int64
    ) throws(ChannelRefusal) {
        let key = sender.user.map { Key.user($0) } ?? .address(sender.address)
        var known = senders[key] ?? Sender(bucket: Self.bucket(rules, now))
        let isWritten = kind != .like
        if !sender.isModerator {
            if isWritten, rules.slowMode > 0, let last = known.wroteAt {
                let left = Int64(rules.slowMode) * 1_000_000_000 - (now - last)
                if left > 0 { throw .slowMode(secondsLeft: Self.seconds(left)) }
            }
            if let wait = known.bucket.take(1, at: now) { throw .tooFast(secondsLeft: Self.seconds(wait)) }
            // Likes cause no work for viewers, because they are announced in bursts.
            if isWritten, let wait = room.take(1, at: now) { throw .roomTooFast(secondsLeft: Self.seconds(wait)) }
        }
        if isWritten { known.wroteAt = now }
        if senders[key] == nil, senders.count >= Self.mostSenders { makeRoom(rules, now) }
        senders[key] = known
    }

    /// Removes senders that have no limits in effect, and all senders if that is not enough: so many at once are an
    /// attack, and the room's own rate still applies.
    private mutating func makeRoom(_ rules: ChannelRules, _ now: Int64) {
        let slow = Int64(rules.slowMode) * 1_000_000_000
        senders = senders.filter { _, sender in
            !sender.bucket.isFull(at: now) || sender.wroteAt.map { now - $0 < slow } ?? false
        }
        if senders.count >= Self.mostSenders { senders = [:] }
    }

    private static func bucket(_ rules: ChannelRules, _ now: Int64) -> TokenBucket {
        TokenBucket(rate: rules.userRate, burst: Double(rules.userBurst), now: now)
    }

    static func seconds(_ nanoseconds: Int64) -> Int { Int((nanoseconds - 1) / 1_000_000_000) + 1 }
}
