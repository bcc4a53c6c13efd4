import Foundation
import Testing

@testable import MixOrchestrator
@testable import PostgreSQLStore
@testable import RoomService

extension ConfigurationTests {
    private static func node(_ more: String) -> String {
        "store: { url: \"postgresql://mix@db/mix\" }\nnode: { url: \"http://10.0.0.1:8080\"\(more) }"
    }

    /// Viewers are sent to another node only if it is set, and only if this node has an address for them, too.
    @Test func viewersMayBeSentToTheOtherNode() throws {
        let plain = try #require(try configuration(Self.node("")).node)
        #expect(plain.viewers == .proxy && plain.publicURL == nil)
        let named = try #require(try configuration(Self.node(", publicURL: \"https://a.mix.example/\"")).node)
        #expect(named.viewers == .proxy && named.publicURL == "https://a.mix.example")
        let sent = try #require(
            try configuration(Self.node(", publicURL: \"https://a.mix.example:8443\", viewers: redirect")).node)
        #expect(sent.viewers == .redirect && sent.publicURL == "https://a.mix.example:8443")
    }

    @Test(arguments: [
        (", viewers: redirect", "node.viewers: found redirect without node.publicURL"),
        (", publicURL: \"a.mix.example\"", "node.publicURL: expected an address"),
        (", publicURL: \"https://a.mix.example/below\"", "node.publicURL: expected an address"),
        (", publicURL: \"https://a.mix.example/?x=1\"", "node.publicURL: expected an address"),
    ])
    func anAddressForViewersIsThatOfAHost(_ setting: String, _ expected: String) {
        let error = #expect(throws: StartupError.self) { try configuration(Self.node(setting)) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    @Test func aClusterMayHaveAName() throws {
        let named = try configuration("store: { url: \"postgresql://mix@db/mix\", cluster: eu-production }")
        #expect(named.store.cluster == "eu-production")
        #expect(try configuration("store: { url: \"postgresql://mix@db/mix\" }").store.cluster == nil)
    }

    /// The database's password may be in a file of its own, which must be the service's alone and hold one password.
    @Test func theDatabasesPasswordMayBeInAFile() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("password-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        func read(_ content: String, mode: Int) throws -> OrchestratorConfiguration {
            try Data(content.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
            return try configuration("store: { url: \"postgresql://mix:0ld@db/mix\", passwordFile: \"\(file.path)\" }")
        }
        let own = try read("s3cret word\n", mode: 0o600)
        #expect(own.store.target?.keywords.first { $0.name == "password" }?.value == "s3cret word")
        #expect(own.store.warnings.isEmpty)
        let open = try read("s3cret", mode: 0o644)
        #expect(open.store.warnings.count == 1 && open.store.warnings[0].contains("chmod o= \(file.path)"))
        for content in ["", "\n", String(repeating: "x", count: 513), "s3cret\0"] {
            let error = #expect(throws: StartupError.self) { try read(content, mode: 0o600) }
            #expect(error?.description.contains("store.passwordFile: found") == true, "\(error?.description ?? "")")
            #expect(error?.description.contains("s3cret") == false)
        }
    }

    /// A connection to a server that is lost ends in a bounded time, and writes go to the primary, unless the URL says otherwise.
    @Test func connectionsAreBoundedUnlessTheURLSaysOtherwise() throws {
        func value(_ name: String, _ options: String) throws -> String? {
            try PostgreSQLTarget(url: "postgresql://mix@a,b/mix\(options)").keywords.first { $0.name == name }?.value
        }
        let defaults = [
            ("connect_timeout", "2"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "10"),
            ("target_session_attrs", "read-write"),
        ]
        for (name, expected) in defaults { #expect(try value(name, "") == expected) }
        #expect(try value("tcp_user_timeout", "?tcp_user_timeout=4000") == "4000")
    }
}
