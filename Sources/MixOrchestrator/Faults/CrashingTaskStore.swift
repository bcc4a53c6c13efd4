import RoomService

#if DEBUG
    import Foundation
    import Synchronization
    import TaskStore

    /// Kills the process at one of its writes, to show that no result depends on which one. Available only in debug
    /// builds, and only when `MIXORCHESTRATOR_CRASH_AT` is set.
    final class CrashingTaskStore: ForwardingTaskStore {
        /// The point of the crash. `3:before` is right before the third change becomes durable, `3:after` right after
        /// it, before any caller learns of it.
        struct Point: Equatable {
            enum Side: String { case before, after }
            var write: Int
            var side: Side

            /// - Throws: `StartupError` that states the expected form.
            init(_ text: String) throws(StartupError) {
                let words = text.split(separator: ":", omittingEmptySubsequences: false)
                guard words.count == 2, let write = Int(words[0]), write > 0,
                    let side = Side(rawValue: String(words[1]))
                else {
                    throw StartupError(
                        "\(CrashingTaskStore.variable): found \"\(text)\"; expected as in 3:before or 3:after")
                }
                (self.write, self.side) = (write, side)
            }
        }

        static let variable = "MIXORCHESTRATOR_CRASH_AT"

        let base: any TaskStore
        private let point: Point
        private let crash: @Sendable () -> Void
        private let writes = Mutex(0)

        /// - Parameter crash: Ends the process. Returns only in tests.
        init(
            _ base: any TaskStore, at point: Point, crash: @escaping @Sendable () -> Void = { kill(getpid(), SIGKILL) }
        ) {
            self.base = base
            self.point = point
            self.crash = crash
        }

        /// Wraps the store if the environment asks for a crash, and returns the store itself otherwise.
        static func wrapping(_ store: any TaskStore) throws(StartupError) -> any TaskStore {
            guard let text = ProcessInfo.processInfo.environment[variable] else { return store }
            return CrashingTaskStore(store, at: try Point(text))
        }

        func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
            let write = writes.withLock { count in
                count += 1
                return count
            }
            if point == .init(write, .before) { crash() }
            let result = try await base.commit(change)
            if point == .init(write, .after) { crash() }
            return result
        }
    }

    extension CrashingTaskStore.Point {
        fileprivate init(_ write: Int, _ side: Side) { (self.write, self.side) = (write, side) }
    }
#endif
