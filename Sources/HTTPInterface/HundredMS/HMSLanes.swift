import MixModel
import Synchronization

/// Serializes the calls for each room, in order of arrival. Thread-safe.
final class HMSLanes: Sendable {
    /// Waiting calls, by room in which a call is in progress.
    private let waiting = Mutex<[RoomID: [CheckedContinuation<Void, any Error>]]>([:])

    /// Largest number of calls that wait for one room.
    static let longest = 64

    /// The state in which a call finds a room's lane.
    private enum Place { case free, taken, full }

    /// Returns whether a call is in progress in the room.
    func isBusy(_ room: RoomID) -> Bool { waiting.withLock { $0[room] != nil } }

    /// - Throws: `HMSFault` if too many calls wait, and the errors of `body`.
    func pass<Value: Sendable>(
        _ room: RoomID, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let place: Place = waiting.withLock { rooms in
                guard let others = rooms[room] else {
                    rooms[room] = []
                    return .free
                }
                guard others.count < Self.longest else { return .full }
                rooms[room]?.append(continuation)
                return .taken
            }
            switch place {
            case .free: continuation.resume()
            case .taken: break
            case .full: continuation.resume(throwing: HMSFault.busy)
            }
        }
        defer { leave(room) }
        return try await body()
    }

    private func leave(_ room: RoomID) {
        let next = waiting.withLock { rooms -> CheckedContinuation<Void, any Error>? in
            guard let first = rooms[room]?.first else {
                rooms[room] = nil
                return nil
            }
            rooms[room]?.removeFirst()
            return first
        }
        next?.resume()
    }
}
