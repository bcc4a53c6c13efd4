import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TestSupport

@testable import MixOrchestrator
@testable import RoomService

/// A server on a real loopback port that records the webhooks it gets, and answers as the test sets.
final class WebhookReceiver: Sendable {
    struct Message: Sendable {
        var path: String
        var headers: HTTPFields
        var body: String
        var status: Int

        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
        var id: String { header("webhook-id") ?? (try? value("MsgId")) ?? "" }
        func value(_ path: String) throws -> String? { try Answer(status: 0, headers: [:], text: body).value(path) }
    }

    enum Reply: Sendable {
        case status(Int)
        case redirect(String)
        case text(String)
        /// Never answers.
        case hangs
    }

    private let state = Mutex<(messages: [Message], reply: @Sendable (Message) -> Reply)>(([], { _ in .status(200) }))
    let port: Int

    private let reserved: ReservedPort?

    fileprivate init(port: Int, reserved: ReservedPort? = nil) {
        self.port = port
        self.reserved = reserved
    }

    /// Returns a receiver that cannot be reached before `comeBack`.
    static func absent() throws -> WebhookReceiver {
        let reserved = try ReservedPort()
        return WebhookReceiver(port: reserved.number, reserved: reserved)
    }

    var url: String { "http://127.0.0.1:\(port)/hook" }
    /// All messages that arrived, including refused ones.
    var messages: [Message] { state.withLock { $0.messages } }
    /// The messages that were answered with success.
    var taken: [Message] { messages.filter { $0.status == 200 } }
    func answer(_ reply: @escaping @Sendable (Message) -> Reply) { state.withLock { $0.reply = reply } }

    fileprivate func receive(_ request: Request) async throws -> Response {
        let body = try await String(buffer: request.body.collect(upTo: 1 << 20))
        var message = Message(path: request.uri.string, headers: request.headers, body: body, status: 200)
        let reply = state.withLock { $0.reply }(message)
        switch reply {
        case .status(let code):
            message.status = code
            state.withLock { $0.messages.append(message) }
            return Response(status: .init(code: code), body: ResponseBody(byteBuffer: ByteBuffer(string: "so be it")))
        case .text(let text):
            state.withLock { $0.messages.append(message) }
            return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        case .redirect(let place):
            message.status = 307
            state.withLock { $0.messages.append(message) }
            return Response(status: .temporaryRedirect, headers: [.location: place])
        case .hangs:
            message.status = 0
            state.withLock { $0.messages.append(message) }
            // The request blocks until the connection ends.
            try await Task.sleep(for: .seconds(3600))
            return Response(status: .ok)
        }
    }

    /// Runs a server on a free port for the length of `body`.
    static func run(_ body: @escaping @Sendable (WebhookReceiver) async throws -> Void) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let found = Mutex<WebhookReceiver?>(nil)
        try await serve(
            at: 0, { request in try await found.withLock { $0 }?.receive(request) ?? Response(status: .ok) }
        ) {
            port.yield($0)
        } body: {
            for await number in ports {
                let receiver = WebhookReceiver(port: number)
                found.withLock { $0 = receiver }
                return try await body(receiver)
            }
        }
    }

    /// Runs the server on the same port again for the length of `body`.
    func comeBack(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await Self.serve(at: port, { try await self.receive($0) }, onRunning: { _ in }, body: body)
    }

    private static func serve(
        at port: Int, _ receive: @escaping @Sendable (Request) async throws -> Response,
        onRunning: @escaping @Sendable (Int) -> Void, body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let router = Router()
        router.post("**") { request, _ in try await receive(request) }
        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in onRunning(channel.localAddress?.port ?? 0) },
            logger: Logger(label: "receiver") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            // The server is cancelled, not drained: a hanging request must not delay the test.
            tasks.addTask { try? await application.run() }
            tasks.addTask { try await body() }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }
}

extension DeliveryPolicy {
    /// The standard policy, a hundred times as fast. The time limit of an answer stays the same, since a receiver that
    /// is slow for a moment would otherwise get a message twice.
    static let quick: @Sendable (Subscription.Kind) -> DeliveryPolicy = { _ in
        var policy = DeliveryPolicy(
            shortestDelay: .milliseconds(20), longestDelay: .milliseconds(100), giveUpAfter: .seconds(600),
            shortestBreak: .milliseconds(30), longestBreak: .milliseconds(100))
        policy.timeLimit = .seconds(30)
        return policy
    }

    /// A time limit of half a second, for receivers that hang. Other receivers may get a message twice.
    static let hasty: @Sendable (Subscription.Kind) -> DeliveryPolicy = { kind in
        var policy = quick(kind)
        policy.timeLimit = .milliseconds(500)
        return policy
    }

    /// Gives up at the first failure.
    static let impatient: @Sendable (Subscription.Kind) -> DeliveryPolicy = { kind in
        var policy = quick(kind)
        policy.giveUpAfter = .zero
        return policy
    }
}

extension Bench {
    /// - Returns: The id and the secret.
    func subscribe(_ url: String, _ more: String = "") async throws -> (id: String, secret: String) {
        let answer = try await call(.post, "/v1/subscriptions", #"{"url":"\#(url)"\#(more)}"#)
        guard answer.status == 201, let id = try answer.value("id"), let secret = try answer.value("secret") else {
            throw Unexpected(answer: answer)
        }
        return (id, secret)
    }

    func join(_ user: String, room: String = "demo") async throws {
        let answer = try await call(
            .post, "/v1/rooms/\(room)/events", #"{"type":"participant.joined","user":"\#(user)"}"#)
        guard answer.status == 202 else { throw Unexpected(answer: answer) }
    }
}

struct Unexpected: Error { var answer: Answer }
