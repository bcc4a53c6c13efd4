import MixModel
import Synchronization
import TextFormats

/// The nonces of one access key within the replay window. Thread-safe; holds a bounded number.
///
/// When the cache is full, it forgets the oldest slots of nonces. From then on it refuses requests signed during those
/// slots or earlier, so that a request whose nonce is forgotten cannot be replayed.
final class NonceCache: Sendable {
    enum Outcome: Hashable, Sendable {
        case fresh
        case used
        /// The request was signed before the time, in seconds since 1970, from which nonces are known.
        case tooOld(Double)
    }

    fileprivate struct State {
        /// Hashes of the nonces, by the slot of their time of signing.
        var slots: [Int: Set<Int>] = [:]
        var count = 0
        /// The first slot whose nonces are known.
        var floor: Int
    }
    private let state: Mutex<State>
    private let limit: Int

    /// Default number of nonces of one key: 1000 calls per second over the whole window.
    static let standardLimit = 1 << 20
    /// Length of a slot, in seconds.
    static let slotLength = 8.0

    /// - Parameter start: Time before which signed requests are refused, in seconds since 1970. Whether they arrived
    ///   before is unknown.
    init(limit: Int = standardLimit, start: Double) {
        self.limit = limit
        startsAt = start.rounded(.down)
        state = Mutex(State(floor: Self.slot(startsAt)))
    }
    private let startsAt: Double

    /// Records a nonce.
    ///
    /// - Parameters:
    ///   - signedAt: Time of signing stated by the request, in seconds since 1970.
    ///   - now: Current time, in seconds since 1970.
    ///   - window: Maximum age of a request, in seconds. The caller refuses requests signed earlier.
    func take(_ nonce: String, signedAt: Double, now: Double, window: Double) -> Outcome {
        let slot = Self.slot(signedAt)
        let hash = Self.hash(of: nonce)
        return state.withLock { state in
            guard signedAt >= startsAt else { return .tooOld(startsAt) }
            guard slot >= state.floor else { return .tooOld(Double(state.floor) * Self.slotLength) }
            if state.slots[slot]?.contains(hash) == true { return .used }
            if state.slots[slot] == nil || state.count >= limit { state.forget(before: Self.slot(now - window)) }
            while state.count >= limit, let oldest = state.slots.keys.min() {
                guard oldest < slot else {
                    // All known nonces were signed in this slot or later, so the new one is refused.
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

    /// Returns the hash of the nonce's bytes. It is seeded for each process, so clients cannot craft nonces that collide.
    private static func hash(of nonce: String) -> Int { UTF8Key(nonce).hashValue }

    /// Returns whether the nonce has been taken, for any time of signing.
    func contains(_ nonce: String) -> Bool {
        let hash = Self.hash(of: nonce)
        return state.withLock { state in state.slots.values.contains { $0.contains(hash) } }
    }

    /// Current number of nonces.
    var count: Int { state.withLock { $0.count } }

    private static func slot(_ time: Double) -> Int { Int((time / slotLength).rounded(.down)) }
}

extension NonceCache.State {
    fileprivate mutating func forget(before slot: Int) {
        for old in slots.keys where old < slot { count -= slots.removeValue(forKey: old)?.count ?? 0 }
    }
}
