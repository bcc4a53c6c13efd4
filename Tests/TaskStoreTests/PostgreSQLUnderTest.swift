import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// A trait for tests that need the PostgreSQL server.
let needsPostgreSQL = ConditionTrait.enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)")

/// Runs a test with a schema of its own on the shared server.
func withSchema(_ body: (PostgreSQLServer, _ schema: String) async throws -> Void) async throws {
    let server = try PostgreSQLServer.shared.get()
    try await body(server, server.makeSchema())
}

func target(_ server: PostgreSQLServer, _ schema: String, port: Int? = nil) throws(StoreError) -> PostgreSQLTarget {
    try PostgreSQLTarget(url: server.url(port: port, schema: schema))
}

extension PostgreSQLTaskStore: GroupingStore {
    func occupyWriter(_ body: @escaping @Sendable () -> Void) async throws { try await write { _, _ in body() } }
}

/// Names that many tasks collect.
final class Names: Sendable {
    private let names = Mutex<Set<String>>([])
    var all: Set<String> { names.withLock { $0 } }
    func insert(_ name: String) { names.withLock { _ = $0.insert(name) } }
}

final class Tally: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increase() { count.withLock { $0 += 1 } }
}
