import Foundation
import MixModel
import PostgreSQLStore
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import TaskStore

/// A store under test, and the resources to remove after it.
struct StoreUnderTest: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Opens the store. The directory belongs to the test alone.
    private var make: @Sendable (_ directory: String, StoreClock?, Retention) throws -> any TaskStore

    /// Opens the store.
    ///
    /// - Parameter clock: The store's own clock if `nil`.
    func open(
        _ directory: String, clock: StoreClock? = nil, retention: Retention = Retention()
    ) throws -> any TaskStore {
        try make(directory, clock, retention)
    }

    /// All stores; PostgreSQL is included if its server is installed.
    static let all = embedded + (PostgreSQLServer.isInstalled ? [postgreSQL] : [])

    /// The stores that several machines may use at once.
    static let shared = [memory] + (PostgreSQLServer.isInstalled ? [postgreSQL] : [])

    private static let memory = StoreUnderTest(testDescription: "memory") { _, clock, retention in
        MemoryTaskStore(clock: clock ?? .system, retention: retention)
    }

    private static let embedded = [
        memory,
        StoreUnderTest(testDescription: "SQLite") { directory, clock, retention in
            try SQLiteTaskStore(path: directory + "/store.sqlite", clock: clock ?? .system, retention: retention)
        },
    ]

    /// A PostgreSQL store. Each directory has a schema of its own, so that a store can be opened again.
    private static let postgreSQL = StoreUnderTest(testDescription: "PostgreSQL") { directory, clock, retention in
        let server = try PostgreSQLServer.shared.get()
        let schema = "s" + directory.suffix(36).filter { $0 != "-" }.lowercased()
        try server.sql(
            "CREATE SCHEMA IF NOT EXISTS \(schema) AUTHORIZATION \(PostgreSQLServer.user)",
            database: PostgreSQLServer.user)
        return try PostgreSQLTaskStore(
            PostgreSQLTarget(url: server.url(schema: schema)), clock: clock, retention: retention)
    }
}

/// A clock that stands still until a test advances it.
final class ManualClock: Sendable {
    private let seconds = Mutex(1_700_000_000.0)

    var clock: StoreClock { StoreClock { self.seconds.withLock { $0 } } }
    func advance(_ time: Double) { seconds.withLock { $0 += time } }
}

func withDirectory<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try await body(directory)
}

func event(_ id: String, room: RoomID = "demo", source: String = "app") -> RoomEvent {
    let publication = Publication(user: "alice", url: "rtmp://127.0.0.1/\(id)", role: .host)
    return RoomEvent(room: room, source: source, id: id, sequence: 7, time: 1.5, kind: .streamPublished(publication))
}

func outcome(of change: StoreChange, in store: any TaskStore) async -> Result<CommitResult, StoreError> {
    do throws(StoreError) {
        return .success(try await store.commit(change))
    } catch {
        return .failure(error)
    }
}
