import Foundation
import MixModel
import Testing

@testable import TaskStore

/// A store that commits many changes in one transaction.
protocol GroupingStore: TaskStore {
    /// Number of writes that wait, not counting those being written.
    var waiting: Int { get }
    /// Runs `body`, which may block, as a write.
    func occupyWriter(_ body: @escaping @Sendable () -> Void) async throws
}

/// Keeps a store's writer busy until it is released, so that all other writes queue behind it.
struct HeldWriter {
    private let gate = DispatchSemaphore(value: 0)

    init(of store: any GroupingStore) async throws {
        let isHeld = Tally()
        let gate = gate
        Task {
            try await store.occupyWriter {
                isHeld.increase()
                gate.wait()
            }
        }
        while isHeld.value < 1 { try await Task.sleep(for: .milliseconds(1)) }
    }

    func release() { gate.signal() }
}

extension GroupingStore {
    /// Commits a thousand changes at once, and expects few transactions of at most `size` changes. Closes the store.
    ///
    /// - Parameter groups: Returns the transactions of the store so far.
    func expectSharedTransactions(of size: Int, _ groups: () -> [GroupCommit]) async throws {
        let writer = try await HeldWriter(of: self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let room = Room(id: RoomID("room\(number)"))
                    let change = StoreChange(event: event("\(number)"), room: .put(room, expected: 0))
                    let result = try await self.commit(change)
                    #expect(result == .committed)
                }
            }
            while waiting < 1000 { try await Task.sleep(for: .milliseconds(1)) }
            writer.release()
            try await group.waitForAll()
        }
        let sizes = groups().map(\.changes)
        #expect(sizes.reduce(0, +) == 1001)
        #expect(sizes.count <= 4, "\(sizes)")
        #expect(sizes.allSatisfy { $0 <= size }, "\(sizes)")
        #expect(try await rooms().count == 1000)
        await close()
    }

    /// Commits 50 changes more than can wait, and expects that just these are refused. Closes the store.
    func expectFullQueue(of size: Int) async throws {
        let writer = try await HeldWriter(of: self)
        let refused = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<size + 50 {
                group.addTask {
                    let result = await outcome(of: StoreChange(event: event("\(number)")), in: self)
                    guard result != .success(.committed) else { return }
                    #expect(result == .failure(.overloaded))
                    refused.increase()
                }
            }
            while refused.value < 50 { try await Task.sleep(for: .milliseconds(1)) }
            writer.release()
            try await group.waitForAll()
        }
        #expect(refused.value == 50)
        #expect(try await events(of: "demo", limit: .max).count == size)
        await close()
    }
}
