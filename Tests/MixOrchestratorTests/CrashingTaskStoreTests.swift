@testable import RoomService

#if DEBUG
    import MixModel
    import TaskStore
    import Testing

    @testable import MixOrchestrator

    /// A store that takes no more changes once the flag is set.
    private final class MortalStore: ForwardingTaskStore {
        let base: any TaskStore
        private let isOver: LockedFlag
        init(_ base: any TaskStore, _ isOver: LockedFlag) { (self.base, self.isOver) = (base, isOver) }
        func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
            guard !isOver.value else { throw .engine("over") }
            return try await base.commit(change)
        }
    }

    @Suite struct CrashingTaskStoreTests {
        @Test(arguments: [("2:before", 1), ("2:after", 2)])
        func itCrashesOnItsSideOfTheWrite(point: String, stored: Int) async throws {
            let base = MemoryTaskStore()
            let hasCrashed = LockedFlag()
            // The store ends where the process would end.
            let store = CrashingTaskStore(MortalStore(base, hasCrashed), at: try .init(point)) {
                hasCrashed.value = true
            }
            for number in 0..<3 {
                _ = try? await store.commit(StoreChange(room: .put(Room(id: RoomID("r\(number)")), expected: 0)))
                #expect(hasCrashed.value == (number > 0))
            }
            #expect(try await base.rooms().count == stored)
        }

        @Test(arguments: ["", "2", "0:before", "2:during", "2:before:", "x:after"])
        func aPointThatIsNoneIsNamed(point: String) {
            let error = #expect(throws: StartupError.self) { try CrashingTaskStore.Point(point) }
            #expect(error?.description.contains("MIXORCHESTRATOR_CRASH_AT: found \"\(point)\"") == true)
        }

        @Test func theVariableIsKnown() throws {
            _ = try ConfigurationKeys.reader(file: nil, environment: [CrashingTaskStore.variable: "1:after"])
        }
    }
#endif
