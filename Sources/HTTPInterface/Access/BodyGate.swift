import NIOCore
import Synchronization

/// Bounds the number of request bodies read at once from callers that are not yet authenticated. Thread-safe.
///
/// A caller that is admitted and then withholds the rest of its body keeps its place for `patience`. Meanwhile other
/// callers from the same address may be refused. Calls that are authenticated by their head need no place.
package final class BodyGate: Sendable {
    private struct State {
        var reading = 0
        var ofAddresses: [String: Int] = [:]
    }
    private let state = Mutex(State())
    private let most: Int
    private let mostOfAddress: Int

    /// Maximum length of such a body, in bytes. SDKs send forms of a few hundred bytes, and task parameters have at
    /// most 64 KiB.
    static let longestBody = 64 << 10
    /// Maximum time for such a body to arrive.
    static let patience = TimeAmount.seconds(5)

    /// - Parameters:
    ///   - most: Bodies read at once. Together they take at most `most` times `longestBody` bytes.
    ///   - mostOfAddress: Bodies read at once from one address.
    init(most: Int = 128, mostOfAddress: Int = 32) {
        self.most = most
        self.mostOfAddress = mostOfAddress
    }

    /// Runs `body` if there is a free place.
    ///
    /// - Parameter address: The address of the connection's other end.
    /// - Returns: The value of `body`, or `nil` if no place is free. In that case `body` does not run.
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
