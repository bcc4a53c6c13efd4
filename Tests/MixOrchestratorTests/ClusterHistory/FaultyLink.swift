import MixModel
import Synchronization
import TaskStore

@testable import RoomService

/// A node's link to the store, with the faults that a test asks for.
final class FaultyLink: ForwardingTaskStore {
    private struct State {
        var isCut = false
        var isFrozen = false
        var isDead = false
        /// Number of changes to store without answering.
        var lostAnswers = 0
    }
    private let state = Mutex(State())
    private let store: any TaskStore
    /// A store that refuses every call.
    private let nothing: MemoryTaskStore
    private let ends: AsyncStream<Void>
    private let ending: AsyncStream<Void>.Continuation

    init(_ store: any TaskStore) async {
        self.store = store
        nothing = MemoryTaskStore()
        await nothing.close()
        (ends, ending) = AsyncStream.makeStream()
    }

    /// The store, or one that refuses every call while the link is cut.
    var base: any TaskStore { state.withLock { $0.isCut || $0.isDead } ? nothing : store }

    /// Cuts or restores the link. Every call over a cut link fails.
    func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }
    /// Freezes or thaws the link. Changes and leases wait while it is frozen and continue afterwards, however late.
    func freeze(_ isFrozen: Bool) { state.withLock { $0.isFrozen = isFrozen } }
    func loseAnswer() { state.withLock { $0.lostAnswers += 1 } }
    /// Lets nothing reach the store from now on, as if the process had been killed.
    func die() { state.withLock { $0.isDead = true } }
    /// Ends the life of the node that uses this link.
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
