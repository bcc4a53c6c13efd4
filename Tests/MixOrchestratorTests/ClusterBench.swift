import AsyncHTTPClient
import EventSubscription
import Foundation
import HTTPTypes
import MixModel
import NIOCore
import NIOHTTP1
import PostgreSQLStore
import RoomService
import ServiceLifecycle
import StoreSupport
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// One node of a cluster, as `serve` runs it, with scripted relays.
final class ClusterMember: Sendable {
    let name: String
    let url: String
    /// Address that it announces for viewers if it redirects them. Nothing answers there.
    let publicURL: String
    var port: Int { reserved.number }
    /// Its data directory.
    let data: String
    let relays = ScriptedRelays()
    /// The node's ingest, if the settings have one, and its address for other nodes.
    let ingest: ScriptedIngest?
    let ingestPlace: IngestPlace?
    let log = LogRecorder()
    let store: any TaskStore
    private let reserved: ReservedPort
    private let group: ServiceGroup
    private let service: Task<Void, any Error>

    private static let http = HTTPClient(eventLoopGroupProvider: .singleton)
    /// Follows no redirects.
    private static let strict = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))

    init(
        _ name: String, in directory: String, store: any TaskStore, lease: Duration, settings: [String: [String]] = [:],
        capacity: Int? = nil, sharesIngest: Bool = true, redirectsViewers: Bool = false,
        policy: @escaping @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard
    ) async throws {
        self.name = name
        let place = directory + "/" + name
        data = place
        try FileManager.default.createDirectory(atPath: place + "/relays", withIntermediateDirectories: true)
        reserved = try ReservedPort()
        let port = reserved.number
        url = "http://127.0.0.1:\(port)"
        publicURL = "http://\(name).mix.test:\(port)"
        self.store = store
        var configuration = try testConfiguration(
            place, ["http.listen": ["127.0.0.1:\(port)"]].merging(settings) { $1 })
        configuration.node = ClusterSettings(name: name, url: url, lease: lease, capacity: capacity)
        if redirectsViewers {
            configuration.node?.publicURL = publicURL
            configuration.node?.viewers = .redirect
        }
        if configuration.ingest != nil {
            ingest = try await ScriptedIngest(data: place)
            ingestPlace = sharesIngest ? IngestPlace(host: "127.0.0.1", port: port) : nil
            configuration.ingest?.rules.advertised = ingestPlace
            configuration.node?.ingest = ingestPlace
        } else {
            (ingest, ingestPlace) = (nil, nil)
        }
        configuration.store.identity = "test \(place)"
        let shutdown = ShutdownNotice(logger: log.logger)
        let application = try await buildOrchestrator(
            configuration, store: store, starter: relays, logger: log.logger, shutdown: shutdown, policy: policy)
        let group = ServiceGroup(services: [application, shutdown], logger: LogRecorder().logger)
        self.group = group
        service = Task { try await group.run() }
        let log = log
        try await eventually { log.text.contains("Server started and listening") ? true : nil }
    }

    /// Stops the node properly: its rooms move to the others.
    func stop() async throws {
        await group.triggerGracefulShutdown()
        try await service.value
        relays.tearDown()
        ingest?.close()
    }

    func call(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url + path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            if headers["Content-Type"] == nil { request.headers.add(name: "Content-Type", value: "application/json") }
        }
        let response = try await Self.http.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        var fields = HTTPFields()
        for (name, value) in response.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return Answer(status: Int(response.status.code), headers: fields, text: String(buffer: bytes))
    }

    /// Returns the head of an answer. Follows no redirect, and reads no body.
    func head(of path: String, headers: [String: String] = [:]) async throws -> (status: Int, headers: HTTPHeaders) {
        var request = HTTPClientRequest(url: url + path)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await Self.strict.execute(request, timeout: .seconds(60))
        return (Int(response.status.code), response.headers)
    }

    /// Returns the beginning of a body that does not end.
    func beginning(of path: String, bytes: Int) async throws -> (status: Int, bytes: [UInt8]) {
        let response = try await Self.http.execute(HTTPClientRequest(url: url + path), timeout: .seconds(60))
        var read: [UInt8] = []
        for try await piece in response.body {
            read += piece.readableBytesView
            if read.count >= bytes { break }
        }
        return (Int(response.status.code), read)
    }

    /// Returns a body as it comes.
    func body(of path: String) async throws -> HTTPClientResponse.Body {
        let response = try await Self.http.execute(HTTPClientRequest(url: url + path), timeout: .seconds(60))
        #expect(response.status == .ok)
        return response.body
    }

    func publish(_ user: String, room: String) async throws {
        let body = #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#
        let answer = try await call("POST", "/v1/rooms/\(room)/events", body)
        #expect(answer.status == 202, "\(answer.text)")
    }

    /// The relays that run for a task.
    func running(_ task: TaskID) -> [ScriptedRelay] { relays.running.filter { $0.task == task } }
}

/// Runs nodes of one cluster in this process: on one store in memory, or each with its own connection to one database.
func withCluster(
    onPostgreSQL: Bool = false, lease: Duration = .seconds(6), settings: [String: [String]] = [:],
    sharesIngests: Bool = true, redirectsViewers: Bool = false,
    policy: @escaping @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard,
    _ body: (_ start: (_ name: String, _ capacity: Int?) async throws -> ClusterMember) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let memory = MemoryTaskStore()
        let schema = onPostgreSQL ? try PostgreSQLServer.shared.get().makeSchema() : ""
        var stores: [any TaskStore] = []
        var members: [ClusterMember] = []
        func start(_ name: String, _ capacity: Int?) async throws -> ClusterMember {
            var store: any TaskStore = memory
            if onPostgreSQL {
                store = try PostgreSQLTaskStore(
                    PostgreSQLTarget(url: PostgreSQLServer.shared.get().url(schema: schema)))
                stores.append(store)
            }
            let member = try await ClusterMember(
                name, in: directory, store: store, lease: lease, settings: settings, capacity: capacity,
                sharesIngest: sharesIngests, redirectsViewers: redirectsViewers, policy: policy)
            members.append(member)
            return member
        }
        do {
            try await body(start)
        } catch {
            for member in members { try? await member.stop() }
            for store in stores { await store.close() }
            throw error
        }
        for member in members { try await member.stop() }
        for store in stores { await store.close() }
    }
}
