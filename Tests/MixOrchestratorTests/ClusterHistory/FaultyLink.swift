import MixModel
import Synchronization
import TaskStore

@testable import RoomService

/// A node's way to the store, which fails as it is told.
final class FaultyLink: ForwardingTaskStore {
    private struct State {
        var isCut = false
        var isFrozen = false
        var isDead = false
        /// Number of changes that are stored without an answer.
        var lostAnswers = 0
    }
    private let state = Mutex(State())
    private let store: any TaskStore
    /// Refuses everything.
    private let nothing: MemoryTaskStore
    private let ends: AsyncStream<Void>
    private let ending: AsyncStream<Void>.Continuation

    init(_ store: any TaskStore) async {
        self.store = store
        nothing = MemoryTaskStore()
        await nothing.close()
        (ends, ending) = AsyncStream.makeStream()
    }

    /// The store, or one that refuses everything while it cannot be reached.
    var base: any TaskStore { state.withLock { $0.isCut || $0.isDead } ? nothing : store }

    /// While it is cut every call fails.
    func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }
    /// While it is frozen changes and leases wait; they go on afterwards, however late that is.
    func freeze(_ isFrozen: Bool) { state.withLock { $0.isFrozen = isFrozen } }
    func loseAnswer() { state.withLock { $0.lostAnswers += 1 } }
    /// Nothing reaches the store any more, as if the process had been killed.
    func die() { state.withLock { $0.isDead = true } }
    /// Ends the life whose link it is.
    func end() { ending.finish() }
    /// Returns at the end of that life.
    func life() async { for await _ in ends {} }

    private func thaw() async {
        while state.withLock({ $0.isFrozen && !$0.isDead }) {
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return die() }
        }
    }

    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        await thaw()
        let result = try await base.commit(change)
        let isLost = state.withLock { state in
            guard state.lostAnswers > 0 else { return false }
            state.lostAnswers -= 1
            return true
        }
        if isLost { throw .outcomeUnknown(place: "the store") }
        return result
    }

    func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
        await thaw()
        return try await base.renew(node, for: duration)
    }

    func claim(_ tasks: [TaskID], by node: NodeID, for duration: Duration) async throws(StoreError) -> [Lease] {
        await thaw()
        return try await base.claim(tasks, by: node, for: duration)
    }

    func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        await thaw()
        return try await base.claimRooms(of: lives, by: node, limit: limit, for: duration)
    }

    func leases(of node: NodeID) async throws(StoreError) -> [Lease] {
        await thaw()
        return try await base.leases(of: node)
    }
}
