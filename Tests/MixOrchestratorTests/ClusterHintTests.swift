import Foundation
import MixModel
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// A node that receives a hint looks at once.
@Suite(.timeLimit(.minutes(2))) struct ClusterHintTests {
    @Test func aNodeLooksWhenItIsTold() async throws {
        try await withDirectory { directory in
            let store = HintingStore()
            let member = try await ClusterMember("a", in: directory, store: store, lease: .seconds(60))
            // The first look is at the start; without a hint, the next one is 20 s later.
            try await eventually { store.looks > 0 ? true : nil }
            for round in 1...3 {
                let (before, start) = (store.looks, ContinuousClock.now)
                store.hint.yield(round == 2 ? .anything : .departure)
                try await eventually { store.looks > before ? true : nil }
                #expect(start.duration(to: .now) < .seconds(10), "before the next look")
            }
            try await member.stop()
        }
    }
}

/// A store whose hints the test sends, and which counts the looks for waiting messages.
private final class HintingStore: ForwardingTaskStore {
    let base: any TaskStore = MemoryTaskStore()
    let hint: AsyncStream<StoreHint>.Continuation
    private let stream: AsyncStream<StoreHint>
    private let count = Mutex(0)

    init() { (stream, hint) = AsyncStream.makeStream() }

    var looks: Int { count.withLock { $0 } }
    func hints() -> AsyncStream<StoreHint> { stream }
    func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID] {
        count.withLock { $0 += 1 }
        return try await base.waitingSubscriptions()
    }
}
