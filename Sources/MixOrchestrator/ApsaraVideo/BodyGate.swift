import Synchronization

/// Bounds how many bodies of callers who are not known yet are read at once. Thread-safe.
///
/// A caller who is let in and withholds the rest keeps its place until the request times out, and the others of its kind
/// are refused meanwhile: calls whose head proves whose they are need no place.
final class BodyGate: Sendable {
    private let reading = Mutex(0)
    private let most: Int

    /// Of one body, in bytes. SDKs send forms of some hundred bytes, and the longest parameters there are have 64 KiB.
    static let longestBody = 64 << 10

    init(most: Int = 32) { self.most = most }

    /// - Returns: `nil`, and `body` has not run, when there is no place.
    func pass<Value>(_ body: () async throws -> Value) async rethrows -> Value? {
        let isFree = reading.withLock { reading in
            guard reading < most else { return false }
            reading += 1
            return true
        }
        guard isFree else { return nil }
        defer { reading.withLock { $0 -= 1 } }
        return try await body()
    }
}
