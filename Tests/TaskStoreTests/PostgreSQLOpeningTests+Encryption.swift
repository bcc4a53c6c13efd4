import Foundation
import MixModel
import StoreSupport
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

extension PostgreSQLOpeningTests {
    /// A server that accepts encrypted connections only, and whose certificate is compared with `sslrootcert` and the host.
    @Test(.timeLimit(.minutes(5))) func onlyTheServerOfTheCertificateIsUsed() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        let (own, other) = (try server.makeCertificate("own"), try server.makeCertificate("other"))
        try server.encrypt(with: own)
        func verified(_ root: String, at host: String = "127.0.0.1", password: String = PostgreSQLServer.password)
            -> String
        {
            let url = server.url(password: password).replacing("@127.0.0.1:", with: "@\(host):")
            return "\(url)?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=\(root)"
        }
        let mistakes: [(url: String, words: String, remedy: String)] = [
            (verified(other.file), "certificate verify failed", "sslrootcert"),
            (verified("/nowhere/root.pem"), "/nowhere/root.pem", "sslrootcert"),
            (verified(own.file, at: "localhost"), "does not match host name \"localhost\"", "sslrootcert"),
            ("\(server.url())?sslmode=disable", "no encryption", "set sslmode=verify-full and sslrootcert"),
            (verified(own.file, password: "wr0ng"), "password authentication failed", "passwordFile"),
            (server.url(password: "wr0ng"), "password authentication failed", "passwordFile"),
        ]
        for (url, words, remedy) in mistakes {
            let text = failure(url)
            #expect(text.contains(words) && text.contains(remedy), "\(text)")
        }
        #expect(try tables(server, "public") == "0", "nothing was made")

        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: verified(own.file)))
        let room = Room(id: "demo", settings: RoomSettings(host: "alice"))
        let change = StoreChange(event: event("1"), room: .put(room, expected: 0))
        #expect(try await store.commit(change) == .committed)
        #expect(try await store.commit(StoreChange(event: event("1"))) == .duplicate)
        let late = StoreChange(event: event("2"), room: .put(room, expected: 0))
        #expect(await outcome(of: late, in: store) == .failure(.conflict(document: "demo")))
        #expect(try await store.room("demo") == Versioned(room, version: 1))
        #expect(try await store.events(of: "demo", limit: 9).map(\.id) == ["1"])
        let node = try await store.register("one", for: .seconds(60))
        let lease = try #require(try await store.claim([.lease(of: "demo")], by: node, for: .seconds(60)).first)
        try await store.expel(node)
        let fenced = StoreChange(event: event("3"), require: [.init(task: lease.task, fence: lease.fence)])
        #expect(await outcome(of: fenced, in: store) == .failure(.fenced("task //demo")))

        let sessions = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '\(PostgreSQLServer.user)'"
        #expect(try server.sql("SELECT count(*) > 1 AND bool_and(ssl) \(sessions)") == "t")
        // Lost connections are made again with the same checks.
        server.crash()
        try server.start()
        let again = try await poll(within: .seconds(60), every: .milliseconds(100)) {
            try? await store.commit(StoreChange(event: event("4")))
        }
        #expect(again == .committed)
        #expect(try server.sql("SELECT bool_and(ssl) \(sessions)") == "t")
        await store.close()
    }
}
