import EventSubscription
import Foundation
import Hummingbird
import Logging
import MixModel
import RoomService
import ServiceLifecycle
import SocketIO
import Synchronization
import TextFormats
import TestSupport
import Testing

@testable import HTTPInterface

/// A service with Socket.IO, and the app that the public conformance suites expect.
struct SocketIOStage: Sendable {
    /// A handler that echoes events and records connections.
    final class Echo: SocketIOHandler {
        let namespaces: Set<String> = ["/", "/custom"]
        private let log = Mutex<[String]>([])

        /// The recorded lines, in order.
        var lines: [String] { log.withLock { $0 } }
        func note(_ line: String) { log.withLock { $0.append(line) } }

        func connected(_ socket: SocketIOSocket, auth: JSONValue?) async {
            note("connected \(socket.app)")
            socket.emit(SocketIOPacket(event: "auth", [auth ?? .object([:])], namespace: socket.namespace))
        }

        func received(_ event: SocketIOEvent, from socket: SocketIOSocket) async -> SocketIOReply {
            switch (event.name, event.arguments.first) {
            case ("message", _):
                socket.emit(
                    SocketIOPacket(
                        event: "message-back", event.arguments, attachments: event.attachments,
                        namespace: socket.namespace))
            case ("message-with-ack", _): return SocketIOReply(event.arguments, attachments: event.attachments)
            case ("join", .string(let room)?): return SocketIOReply([.boolean(socket.join(room))])
            case ("leave", .string(let room)?): socket.leave(room)
            case ("say", .string(let room)?):
                socket.emit(
                    SocketIOPacket(
                        event: "said", Array(event.arguments.dropFirst()), attachments: event.attachments), to: room)
            case ("flood", .number(let count)?):
                let text = JSONValue.string(String(repeating: "x", count: 10_000))
                for _ in 0..<Int(count) { socket.emit(SocketIOPacket(event: "flood", [text])) }
            case ("kick", _): socket.disconnect()
            default: note(event.name)
            }
            return SocketIOReply()
        }

        func disconnected(_ socket: SocketIOSocket, by end: EngineSession.End?) async { note("disconnected") }
    }

    let port: Int
    let server: SocketIOServer
    let metrics: Metrics
    let app: Echo
    let group: ServiceGroup

    /// Runs a service with the conformance suites' ping interval and longer time limits, since a client may be delayed.
    /// Tests of time limits set shorter ones.
    static func run(
        tokens: [(String, AppSettings.TestToken)] = [], _ change: (inout SocketIOSettings) -> Void = { _ in },
        _ body: @escaping @Sendable (SocketIOStage) async throws -> Void
    ) async throws {
        var settings = SocketIOSettings()
        settings.engine.pingInterval = 300
        settings.engine.pingTimeout = 60_000
        settings.engine.upgradeTimeout = 60_000
        settings.connectTimeout = 600_000
        settings.missingVersionIsThree = false
        settings.origins = .any
        change(&settings)
        var apps = AppSettings()
        for (token, holder) in tokens {
            apps.ids.insert(holder.app)
            let isNew = apps.tokens.add(token, app: holder.app, scopes: holder.scopes)
            #expect(isNew)
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (app, metrics) = (Echo(), Metrics())
        let server = SocketIOServer(
            settings: settings, apps: apps, limits: RateLimits(requests: 0, events: 0, failures: 1000), handler: app,
            metrics: metrics, logger: logger)
        let router = Router(context: OrchestratorContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ProblemMiddleware(methods: MethodTable()))
        SocketIOController(server: server).addRoutes(to: router)
        let sockets = WebSocketServer(routes: [server.route])
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, server: HTTPSettings().server(certificate: nil, sockets: sockets, logger: logger),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            services: [server, sockets], onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        let group = ServiceGroup(services: [application], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = await ports.first { _ in true } ?? 0
            let stage = SocketIOStage(port: port, server: server, metrics: metrics, app: app, group: group)
            let failure: (any Error)?
            do {
                try await body(stage)
                failure = nil
            } catch { failure = error }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            if let failure { throw failure }
        }
    }

    // MARK: Requests

    static let four = "EIO=4&transport=polling"
    static let three = "EIO=3&transport=polling"

    func begin(
        _ method: String, _ query: String, _ body: String = "", headers: [String: String] = [:]
    ) throws -> HTTPExchange {
        try HTTPExchange(port: port, method, "/socket.io/?\(query)", headers: headers, body: Array(body.utf8))
    }

    func call(
        _ method: String, _ query: String, _ body: String = "", headers: [String: String] = [:]
    ) async throws -> HTTPExchange.Answer {
        try #require(await begin(method, query, body, headers: headers).answer())
    }

    /// Opens a polling connection, and returns the query of its requests.
    func open(_ query: String = four) async throws -> String {
        let answer = try await call("GET", query)
        #expect(answer.status == 200, "\(answer.text)")
        return try "\(query)&sid=\(#require(Self.field("sid", answer.text)))"
    }

    /// Opens a polling connection in the main namespace.
    func connect() async throws -> String {
        let query = try await open()
        #expect(try await call("POST", query, "40").text == "ok")
        let answer = try await call("GET", query).text
        #expect(answer.hasPrefix(#"40{"sid":""#) && answer.hasSuffix("\u{1E}42[\"auth\",{}]"), "\(answer)")
        return query
    }

    /// Returns when a request of a polling connection waits for packets.
    func eventuallyWaits(_ query: String) async throws {
        let id = String(try #require(query.split(separator: "sid=").last))
        try await eventually {
            (try? server.session(id, .init()))?.state.withLock { $0.engine.held != nil } == true
        }
    }

    func webSocket(_ query: String, headers: [String: String] = [:]) async throws -> WebSocketClient {
        try await WebSocketClient.open(port: port, path: "/socket.io/?\(query)", headers: headers)
    }

    /// Opens a WebSocket in the main namespace.
    func connectSocket() async throws -> WebSocketClient {
        let socket = try await webSocket("EIO=4&transport=websocket")
        #expect(await socket.text()?.hasPrefix("0") == true)
        await socket.send(text: "40")
        #expect(await socket.message()?.hasPrefix(#"40{"sid":""#) == true)
        #expect(await socket.message() == #"42["auth",{}]"#)
        return socket
    }

    /// Returns the text value of a field in JSON.
    static func field(_ name: String, _ text: String) -> String? {
        guard let pattern = try? Regex("\"\(name)\":\"([^\"]+)\"") else { return nil }
        return text.firstMatch(of: pattern).flatMap { $0.output[1].substring.map(String.init) }
    }

    func eventually(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @escaping () -> Bool
    ) async throws {
        let isMet = try await poll(within: .seconds(60), every: .milliseconds(5)) { condition() ? true : nil }
        #expect(isMet == true, "\(server.counts), \(app.lines)", sourceLocation: sourceLocation)
    }
}

extension AppSettings {
    struct TestToken: Sendable {
        var app: AppID
        var scopes: Set<Scope>
    }
}

extension WebSocketClient {
    /// Answers pings, and returns the next text that is none.
    func message() async -> String? {
        while let text = await text() {
            guard text == "2" else { return text }
            await send(text: "3")
        }
        return nil
    }

    /// Whether the server closes the connection, after any frames, and not only because the client is silent.
    ///
    /// Answers the close frame as clients do: the server would otherwise wait two seconds for the answer.
    func isClosed() async -> Bool {
        let start = ContinuousClock.now
        while let frame = await next() {
            if frame.opcode == 8 { await send(0x88, frame.payload) }
        }
        return ContinuousClock.now - start < .seconds(45)
    }
}
