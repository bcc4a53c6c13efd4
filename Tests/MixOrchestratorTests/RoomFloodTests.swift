import Foundation
import MixModel
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// A tenant that announces rooms without limit. `MIX_ROOMS` sets how many; 1 000 000 of them take a quarter of an hour
/// in a release build.
@Suite(.timeLimit(.minutes(30))) struct RoomFloodTests {
    private static let rooms = ProcessInfo.processInfo.environment["MIX_ROOMS"].flatMap { Int($0) } ?? 3000
    private static let isLong = rooms > 3000

    @Test func aFloodOfRoomsLeavesOthersTheirTimeAndTheMachineItsMemory() async throws {
        try await withDirectory { directory in
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            let before = ProcessFigures().residentBytes
            let (latencies, highest) = try await withRegistry(store, in: directory) { registry in
                let (isOver, highest) = (LockedFlag(), LockedBox(0.0))
                async let others = Self.eventsOfAnother(registry, isOver, highest)
                let next = LockedBox(0..<Self.rooms)
                try await withThrowingTaskGroup(of: Void.self) { senders in
                    for _ in 0..<64 {
                        senders.addTask {
                            while let number = next.takeFirst() {
                                let room = RoomID("flood/r\(number)")
                                _ = try await registry.owner(room).receive(Self.published(room, "1"), at: 0)
                            }
                        }
                    }
                    try await senders.waitForAll()
                }
                isOver.value = true
                let latencies = try await others.sorted()
                try await eventually("every room leaves memory") {
                    await registry.sweep()
                    return registry.ownerCount == 0 ? true : nil
                }
                return (latencies, highest.value)
            }
            let after = ProcessFigures().residentBytes
            await store.close()

            let again = try SQLiteTaskStore(path: directory + "/store.sqlite")
            let start = ContinuousClock.now
            let loaded = try await withRegistry(again, in: directory) { $0.ownerCount }
            let restart = ContinuousClock.now - start
            await again.close()
            let p99 = latencies[latencies.count * 99 / 100]
            print(
                """
                \(Self.rooms) rooms announced: another tenant's \(latencies.count) events p50 \
                \(latencies[latencies.count / 2]), p99 \(p99), memory \(Int(before) >> 20) MB, at most \
                \(Int(highest) >> 20) MB, \(Int(after) >> 20) MB afterwards; a start takes \(restart)
                """)
            #expect(loaded == 0, "a start reads no room")
            #expect(restart < .seconds(30))
            // With few rooms, neither number means much, in particular beside other tests.
            if Self.isLong { #expect(highest < 512 * 1_048_576 && p99 < .milliseconds(20)) }
        }
    }

    /// Measures the memory of an owner, its mailbox and its task while the room waits for its next event.
    @Test func aRoomInMemoryTakesLittle() async throws {
        try await withDirectory { directory in
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            let count = RoomRegistry.mostAtLeisure
            let used = try await withRegistry(store, in: directory) { registry in
                func announce(_ numbers: Range<Int>) async throws {
                    // A few rooms at a time, as the others are folded: freed memory is not returned to the system.
                    for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 500) {
                        let some = (first..<min(first + 500, numbers.upperBound)).map { RoomID("r\($0)") }
                        for room in some {
                            _ = try await registry.owner(room).receive(Self.published(room, "1"), at: 0)
                        }
                        for _ in 0...RoomRegistry.roundsUntilFolded { await registry.sweep() }
                        for room in some { _ = try await registry.snapshot(room) }
                    }
                }
                try await announce(0..<1000)
                let before = ProcessFigures().residentBytes
                try await announce(1000..<count)
                #expect(registry.ownerCount == count, "no room has left memory")
                // A folded owner continues.
                let room = RoomID("r77")
                #expect(try await registry.owner(room).receive(Self.published(room, "2"), at: 0) == .accepted)
                #expect(try await registry.owner(room).receive(Self.published(room, "2"), at: 0) == .duplicate)
                return ProcessFigures().residentBytes - before
            }
            await store.close()
            let each = Int(used) / (count - 1000)
            print("a room in memory takes \(each) bytes")
            #expect(each < 8192, "4 KiB in a release build")
        }
    }

    private static func eventsOfAnother(
        _ registry: RoomRegistry, _ isOver: LockedFlag, _ highest: LockedBox<Double>
    ) async throws -> [Duration] {
        var latencies: [Duration] = []
        while !isOver.value || latencies.isEmpty {
            let room = RoomID("calm/r\(latencies.count % 10)")
            let start = ContinuousClock.now
            _ = try await registry.owner(room).receive(published(room, "\(latencies.count)"), at: 0)
            latencies.append(ContinuousClock.now - start)
            highest.value = max(highest.value, ProcessFigures().residentBytes)
            try await Task.sleep(for: .milliseconds(10))
        }
        return latencies
    }

    private static func published(_ room: RoomID, _ id: String) -> RoomEvent {
        let publication = Publication(user: "alice", url: "rtmp://127.0.0.1/live/alice")
        return RoomEvent(room: room, source: "s", id: "\(room) \(id)", kind: .streamPublished(publication))
    }
}

extension LockedBox where Value == Range<Int> {
    fileprivate func takeFirst() -> Int? { update { $0.popFirst() } }
}
