import Foundation
import HTTPTypes
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Defaults of what is accessible, and the warnings to the operator.
struct ExposureTests {
    private static let token = "0123456789abcdef0123456789abcdef"
    private static let apps =
        "apps: [ { id: shop, tokens: [ { token: \(token), scopes: [events, tasks, read] } ] } ]\n"

    private func configuration(_ yaml: String) throws -> OrchestratorConfiguration {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try OrchestratorConfiguration(ConfigurationKeys.reader(file: file.path, environment: [:]))
    }

    /// A person who starts the service must be able to read where to publish and watch.
    @Test func theAddressesStayReadableInTheLog() throws {
        let told = try configuration("ingest: { rtmp: { listen: \"127.0.0.1:1935\" } }\nwebrtc: { whip: on }")
        #expect(told.addresses.count == 4)
        #expect(told.addresses.map(LogRedaction.text) == told.addresses)
        let publishers = "streams can be published to /live of rtmp://127.0.0.1:1935 with the stream key {room}__{user}"
        #expect(told.addresses.last == publishers)
    }

    @Test func withTokensAnEmptyListAllowsNothing() throws {
        let open = try configuration("")
        #expect(open.sources == .loopbackOnly && open.outputs == .loopbackOnly && open.callbacks == .loopbackOnly)
        #expect(open.closedLists.isEmpty && open.exposures.isEmpty)

        let closed = try configuration(Self.apps)
        #expect(closed.sources == .nothing && closed.outputs == .nothing && closed.callbacks == .nothing)
        #expect(closed.closedLists.count == 3)
        #expect(closed.closedLists.first?.hasPrefix("sources.allow is empty: no stream or image can be pulled") == true)

        let spelt = try configuration(Self.apps + "sources: { allow: [\"rtmp://127.0.0.1\"] }")
        #expect(spelt.closedLists.map { String($0.prefix(13)) } == ["outputs.allow", "callbacks.all"])

        let error = #expect(throws: StartupError.self) {
            try configuration(Self.apps + "rooms: { outputs: [\"rtmp://127.0.0.1/cdn/{room}\"] }")
        }
        #expect(error?.description.contains("outputs.allow allows (now: nothing)") == true)
    }

    @Test func openProgramsOfTenantsAreWarnedOf() throws {
        #expect(try configuration(Self.apps).exposures.map { String($0.prefix(24)) } == ["programs under /live are"])
        #expect(try configuration(Self.apps + "playback: { access: open }").exposures.isEmpty)
        #expect(try configuration(Self.apps + "playback: { key: 0123456789abcdef }").exposures.isEmpty)
        #expect(try configuration(Self.apps + "playback: { access: signed, key: 0123456789abcdef }").exposures.isEmpty)
    }

    @Test func theDoctorFindsWhatTheServiceWarnsOf() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("0123456789abcdef".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: file.path)
        defer { try? FileManager.default.removeItem(at: file) }
        let configuration = try configuration(
            """
            playback: { keyFile: \(file.path) }
            upload: { endpoint: "http://s3.example", bucket: b, accessKey: AKID, secretKey: 0123456789abcdef }
            """)
        let findings = DoctorCommand.settings(configuration)
        for part in ["\(file.path) holds secrets", "uploads to http://s3.example are not encrypted"] {
            #expect(configuration.warnings.contains { $0.hasPrefix(part) }, "\(configuration.warnings)")
            #expect(findings.contains { !$0.isGood && $0.text.hasPrefix(part) }, "\(findings)")
        }
        let tenants = try self.configuration(Self.apps)
        let notes = DoctorCommand.settings(tenants)
        #expect(notes.allSatisfy(\.isGood) && notes.map(\.text) == tenants.exposures + tenants.closedLists)
    }

    @Test func aDrainThatIsNotMadeIsWarnedOf() throws {
        let store = "store: { url: \"postgresql://mix@db/mix\" }\n"
        func warnings(_ node: String, _ relay: String) throws -> [String] {
            try configuration(store + "node: { url: \"http://10.0.0.1:8080\"\(node) }\n" + relay).warnings
        }
        let kept = "relay: { keep: true }"
        let found = try warnings(", drainSeconds: 300", kept)
        #expect(found.map { String($0.prefix(32)) } == ["node.drainSeconds has no effect "], "\(found)")
        #expect(try warnings(", drainSeconds: 300", "").isEmpty)
        #expect(try warnings(", drainSeconds: 0", kept).isEmpty)
        #expect(try warnings("", kept).isEmpty)
    }

    @Test func theDoctorChecksWhereTheIngestListens() async throws {
        let (taken, free) = (try LoopbackListener(), try LoopbackListener())
        close(free.descriptor)
        defer { close(taken.descriptor) }
        for (plain, secure, isGood) in [
            (free.port, taken.port, [true, false, false]), (taken.port, free.port, [false, true, false]),
        ] {
            let settings = try configuration(
                """
                ingest:
                  rtmp: { listen: "127.0.0.1:\(plain)" }
                  rtmps: { listen: "127.0.0.1:\(secure)", certificate: /nowhere/certificate.pem, key: /nowhere/key.pem }
                """)
            let findings = try await DoctorCommand.ingest(try #require(settings.ingest?.rules))
            #expect(findings.map(\.isGood) == isGood, "\(findings)")
            #expect(findings.last?.text.hasPrefix("ingest.rtmps: /nowhere/certificate.pem: No such file") == true)
        }
    }

    @Test func pagesOfOtherOriginsReadNothingByDefault() throws {
        let origins = try configuration("").playback.origins
        #expect(origins == .none)
        #expect(origins.headers(origin: "https://a.example")[.accessControlAllowOrigin] == nil)
        #expect(origins.preflight(origin: "https://a.example")[.accessControlAllowOrigin] == nil)
        #expect(try configuration("playback: { cors: [\"*\"] }").playback.origins == .any)
    }

    /// Sources, outputs and webhooks of a tenant on the service's own machine are refused, each by its own list.
    @Test func aTenantDoesNotReachLoopback() async throws {
        let settings = [
            "apps.0.id": ["shop"], "apps.0.tokens.0.token": [Self.token],
            "apps.0.tokens.0.scopes": ["events", "tasks", "read"], "rooms.outputs": [],
            "sources.allow": [], "outputs.allow": [], "callbacks.allow": [],
        ]
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: settings) { bench in
                let headers: HTTPFields = [.authorization: "Bearer \(Self.token)"]
                let calls: [(method: HTTPRequest.Method, uri: String, body: String, list: String)] = [
                    (
                        .post, "/v1/rooms/r/events",
                        #"{"type":"stream.published","user":"a","url":"rtmp://127.0.0.1/live/a"}"#, "sources.allow"
                    ),
                    (
                        .post, "/v1/rooms/r/events",
                        #"{"type":"stream.published","user":"a","url":"http://localhost:9090/a.flv"}"#, "sources.allow"
                    ),
                    (
                        .put, "/v1/rooms/r", #"{"outputs":[{"id":"o","url":"rtmp://[::1]/cdn/r"}]}"#, "outputs.allow"
                    ),
                    (
                        .post, "/v1/subscriptions", #"{"url":"http://127.0.0.1:8080/hook","events":["*"]}"#,
                        "callbacks.allow"
                    ),
                ]
                for call in calls {
                    let answer = try await bench.call(call.method, call.uri, call.body, headers: headers)
                    #expect(answer.status == 422 || answer.status == 400, "\(call.uri): \(answer.text)")
                    #expect(answer.text.contains("\(call.list) allows (now: nothing)"), "\(call.uri): \(answer.text)")
                }
            }
        }
    }
}
