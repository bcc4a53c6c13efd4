import NIOCore
import Synchronization

/// Bounds how many bodies of callers who are not known yet are read at once. Thread-safe.
///
/// A caller who is let in and withholds the rest keeps its place for `patience`, and others from the same address may be
/// refused meanwhile. Calls whose head proves whose they are need no place.
final class BodyGate: Sendable {
    private struct State {
        var reading = 0
        var ofAddresses: [String: Int] = [:]
    }
    private let state = Mutex(State())
    private let most: Int
    private let mostOfAddress: Int

    /// Longest body of such a caller, in bytes. SDKs send forms of some hundred bytes, and the longest parameters there are
    /// have 64 KiB.
    static let longestBody = 64 << 10
    /// Longest time for such a body to come.
    static let patience = TimeAmount.seconds(5)

    /// - Parameters:
    ///   - most: Bodies that are read at once; all of them together take at most `most` times `longestBody`.
    ///   - mostOfAddress: Bodies that are read at once from one address.
    init(most: Int = 128, mostOfAddress: Int = 32) {
        self.most = most
        self.mostOfAddress = mostOfAddress
    }

    /// - Parameter address: The other side of the connection.
    /// - Returns: `nil`, and `body` has not run, when there is no place.
    func pass<Value>(from address: String, _ body: () async throws -> Value) async rethrows -> Value? {
        let isFree = state.withLock { state in
            guard state.reading < most, state.ofAddresses[address] ?? 0 < mostOfAddress else { return false }
            state.reading += 1
            state.ofAddresses[address, default: 0] += 1
            return true
        }
        guard isFree else { return nil }
        defer { leave(address) }
        return try await body()
    }

    private func leave(_ address: String) {
        state.withLock { state in
            state.reading -= 1
            let left = (state.ofAddresses[address] ?? 1) - 1
            state.ofAddresses[address] = left > 0 ? left : nil
        }
    }
}
