import Configuration
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MixModel
import RoomService
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// A running service with scripted relays, as tests use it.
struct Bench: Sendable {
    let client: any TestClientProtocol
    let relays: ScriptedRelays
    let store: any TaskStore
    let directory: String
    let log: LogRecorder

    /// A request with a JSON body.
    func call(
        _ method: HTTPRequest.Method, _ uri: String, _ body: String? = nil, headers: HTTPFields = [:]
    ) async throws -> Answer {
        try await client.execute(
            uri: uri, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) }
        ) { response in
            Answer(status: response.status.code, headers: response.headers, text: String(buffer: response.body))
        }
    }

    func publish(_ user: String, room: String = "demo") async throws {
        let body = #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#
        let answer = try await call(.post, "/v1/rooms/\(room)/events", body)
        #expect(answer.status == 202, "\(answer.text)")
    }

    func unpublish(_ user: String, room: String = "demo") async throws {
        let body = #"{"type":"stream.unpublished","user":"\#(user)"}"#
        let answer = try await call(.post, "/v1/rooms/\(room)/events", body)
        #expect(answer.status == 202, "\(answer.text)")
    }

    /// Returns the newest relay's plan once it matches.
    @discardableResult func plan(
        _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        where isAsked: @escaping (ProgramPlan) -> Bool
    ) async throws -> ProgramPlan {
        try await eventually(comment, sourceLocation: sourceLocation) {
            guard let plan = relays.started.last?.plan, isAsked(plan) else { return nil }
            return plan
        }
    }
}

struct Answer: Sendable {
    var status: Int
    var headers: HTTPFields
    var text: String

    /// Returns the value at a path of keys and indices, as in `switches.0.to`.
    func value(_ path: String) throws -> String? {
        var value: Any? = try JSONSerialization.jsonObject(with: Data(text.utf8))
        for key in path.split(separator: ".") {
            if let index = Int(key), let array = value as? [Any] {
                value = array.indices.contains(index) ? array[index] : nil
            } else {
                value = (value as? [String: Any])?[String(key)]
            }
        }
        return value.map { "\($0)" }
    }

    func isTrue(_ path: String) throws -> Bool { ["1", "true"].contains(try value(path)) }
}

struct TimedOut: Error {}

/// Waits until `condition` returns a value, at most a minute: other tests may keep the cores busy.
@discardableResult func eventually<Value>(
    _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Value?
) async throws -> Value {
    if let value = try await poll(within: .seconds(60), every: .milliseconds(2), condition) { return value }
    Issue.record(comment ?? "did not happen within a minute", sourceLocation: sourceLocation)
    throw TimedOut()
}

/// Records all log lines, including their metadata.
final class LogRecorder: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }

    struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            recorder.append("\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])")
        }
    }

    var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }
}

/// Returns the settings of a test: outputs for every room, layouts and data in its own directory.
///
/// - Parameter omitted: Keys to leave out.
func testConfiguration(
    _ directory: String, _ changes: [String: [String]] = [:], omitting omitted: Set<String> = []
) throws -> OrchestratorConfiguration {
    // A configuration with tokens allows only destinations that it lists.
    let allowed = changes.keys.contains { $0.contains(".tokens.") } ? ["*://127.0.0.1", "*://localhost"] : []
    let settings = [
        "sources.allow": allowed, "outputs.allow": allowed, "callbacks.allow": allowed,
        "http.listen": ["127.0.0.1:0"], "rooms.outputs": ["rtmp://127.0.0.1/out/{room}"], "data": [directory],
        "layouts": [directory + "/layouts"],
        // Other load on the machine must not affect a test.
        "admission.cores": ["0"], "overload.highestLevel": ["0"],
    ].merging(changes) { $1 }
    var values: [AbsoluteConfigKey: ConfigValue] = [:]
    for (key, words) in settings where !omitted.contains(key) {
        let content =
            switch try #require(key.hasPrefix("apps.") ? appKind(key) : ConfigurationKeys.known[key]) {
            case .scalar: ConfigContent.string(words.joined())
            case .list: ConfigContent.stringArray(words)
            }
        values[AbsoluteConfigKey(key.split(separator: ".").map(String.init))] = ConfigValue(content, isSecret: false)
    }
    return try OrchestratorConfiguration(ConfigReader(provider: InMemoryProvider(values: values)))
}

private func appKind(_ key: String) -> ConfigurationKeys.Kind { key.hasSuffix(".scopes") ? .list : .scalar }

/// Runs `body` with a new directory. Its path is short, since the length of sockets' paths is limited.
func withDirectory<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let directory = "/tmp/mo-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
        atPath: directory + "/relays", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try await body(directory)
}

/// Runs a service for the length of `body`.
func withOrchestrator(
    _ setup: TestingSetup = .router, directory: String, relays: ScriptedRelays = ScriptedRelays(),
    store: (any TaskStore)? = nil, settings: [String: [String]] = [:], omitting omitted: Set<String> = [],
    policy: @escaping @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard,
    previews: (any PreviewMaking)? = nil,
    _ body: @escaping @Sendable (Bench) async throws -> Void
) async throws {
    let log = LogRecorder()
    let store = try store ?? SQLiteTaskStore(path: directory + "/store.sqlite")
    let application = try await buildOrchestrator(
        testConfiguration(directory, settings, omitting: omitted), store: store, starter: relays, logger: log.logger,
        policy: policy, previews: previews)
    try await application.test(setup) { client in
        try await body(Bench(client: client, relays: relays, store: store, directory: directory, log: log))
    }
}

/// A Boolean that several tasks may use.
final class LockedFlag: Sendable {
    private let flag = Mutex(false)

    var value: Bool {
        get { flag.withLock { $0 } }
        set { flag.withLock { $0 = newValue } }
    }
}

/// A value that several tasks may use.
final class LockedBox<Value: Sendable>: Sendable {
    func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { box.withLock { body(&$0) } }

    private let box: Mutex<Value>

    init(_ value: Value) { box = Mutex(value) }

    var value: Value {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }
}
