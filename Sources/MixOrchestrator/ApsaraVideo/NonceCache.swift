import MixModel
import Synchronization

/// The nonces of one access key within the replay window. Thread-safe; holds a bounded number.
///
/// When more come than it can hold, the oldest are given up together with their time: a request that was signed then, or
/// earlier, is refused, so that what is forgotten cannot be sent again.
final class NonceCache: Sendable {
    enum Outcome: Hashable, Sendable {
        case fresh
        case used
        /// Signed before the time, in seconds since 1970, from which nonces are known.
        case tooOld(Double)
    }

    fileprivate struct State {
        /// By the time of signing, in slots.
        var slots: [Int: Set<Int>] = [:]
        var count = 0
        /// The first slot that is known.
        var floor: Int
    }
    private let state: Mutex<State>
    private let limit: Int

    /// Nonces of one key: 1000 calls a second over the whole window.
    static let standardLimit = 1 << 20
    /// In seconds.
    static let slotLength = 8.0

    /// - Parameter start: What was signed earlier is refused, in seconds since 1970: nobody knows any more whether it came.
    init(limit: Int = standardLimit, start: Double) {
        self.limit = limit
        startsAt = start.rounded(.down)
        state = Mutex(State(floor: Self.slot(startsAt)))
    }
    private let startsAt: Double

    /// - Parameters:
    ///   - signedAt: As the request says, in seconds since 1970.
    ///   - now: Requests that were signed more than `window` seconds before are refused by the caller.
    func take(_ nonce: String, signedAt: Double, now: Double, window: Double) -> Outcome {
        let slot = Self.slot(signedAt)
        // Seeded anew with each process: nobody can make up nonces that meet.
        let hash = UTF8Key(nonce).hashValue
        return state.withLock { state in
            guard signedAt >= startsAt else { return .tooOld(startsAt) }
            guard slot >= state.floor else { return .tooOld(Double(state.floor) * Self.slotLength) }
            if state.slots[slot]?.contains(hash) == true { return .used }
            if state.slots[slot] == nil || state.count >= limit { state.forget(before: Self.slot(now - window)) }
            while state.count >= limit, let oldest = state.slots.keys.min() {
                guard oldest < slot else {
                    // Everything that is known was signed at this time or later: the new one is given up.
                    return .tooOld(Double(slot + 1) * Self.slotLength)
                }
                state.forget(before: oldest + 1)
                state.floor = max(state.floor, oldest + 1)
            }
            state.slots[slot, default: []].insert(hash)
            state.count += 1
            return .fresh
        }
    }

    /// Whether the nonce was taken, whenever that was signed.
    func contains(_ nonce: String) -> Bool {
        let hash = nonce.hashValue
        return state.withLock { state in state.slots.values.contains { $0.contains(hash) } }
    }

    /// Held now.
    var count: Int { state.withLock { $0.count } }

    private static func slot(_ time: Double) -> Int { Int((time / slotLength).rounded(.down)) }
}

extension NonceCache.State {
    fileprivate mutating func forget(before slot: Int) {
        for old in slots.keys where old < slot { count -= slots.removeValue(forKey: old)?.count ?? 0 }
    }
}
