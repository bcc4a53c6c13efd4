import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RoomService

/// `POST /v1/hooks/{hook}` and `GET`, with the secret in the query or at the end of the path: callbacks of media servers.
///
/// A call is verified and read by its hook, and its events are processed like all others. The answer is in the form
/// that the media server understands; earlier refusals, such as of a wrong secret, are problem documents as elsewhere.
package struct HookController: Sendable {
    let intake: HookIntake
    let rules: HookRules
    let parser: EventParser
    let metrics: Metrics
    let limits: RateLimits
    let hooks: [any EventHook]
    /// Limit of log lines, by hook.
    let notices = RateLimiter(rate: 1)
    /// Length from which on a secret cannot be guessed, in bytes.
    private static let longSecret = 16
    /// Limit of bodies from unauthenticated callers, for hooks that sign them.
    private let gate = BodyGate()

    package init(
        intake: HookIntake, rules: HookRules, parser: EventParser, metrics: Metrics, limits: RateLimits,
        hooks: [any EventHook] = EventHooks.all
    ) {
        self.intake = intake
        self.rules = rules
        self.parser = parser
        self.metrics = metrics
        self.limits = limits
        self.hooks = hooks
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/hooks/{hook}", use: handle)
        router.post("v1/hooks/{hook}", use: handle)
        router.get("v1/hooks/{hook}/{token}", use: handle)
        router.post("v1/hooks/{hook}/{token}", use: handle)
    }

    @Sendable private func handle(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let (hook, settings) = try hook(context)
        let method: HookRequest.Method = request.method == .post ? .post : .get
        guard hook.methods.contains(method) else {
            let allowed = hook.methods.map(\.rawValue).sorted().joined(separator: ", ")
            throw refused(
                hook, "malformed", .methodNotAllowed(method.rawValue, HookPath.prefix + hook.name, allowed: allowed))
        }
        guard settings.sources.allows(context.peer) else {
            throw refused(hook, "address", .hookAddress(context.peer, hook.name))
        }
        // A media server drops publishers whose calls are refused, and behind a proxy it has the address of all clients.
        // Therefore its secret counts even now, unless it may be short enough to be guessed: clouds repeat their calls.
        if hook.shortestSecret < Self.longSecret, let seconds = limits.failures.wait(by: .address(context.peer)) {
            throw refused(hook, "throttled", .tooManyHookFailures(seconds))
        }
        var call = HookRequest(
            method: method, query: request.uri.query ?? "",
            headers: request.headers.map { .init(name: $0.name.canonicalName, value: $0.value) },
            pathToken: context.parameters.get("token").map { $0.removingPercentEncoding ?? $0 }, peer: context.peer,
            arrival: Date().timeIntervalSince1970)
        if !hook.signsBody { try authenticate(call, hook, settings) }
        call.body = try await body(of: request, hook, context)
        if hook.signsBody { try authenticate(call, hook, settings) }
        if let seconds = limits.requests.take(by: .hook(hook.name)) {
            throw refused(hook, "throttled", .tooMany("calls", retryAfter: seconds, setting: "http.rate.requests"))
        }
        let outcome: HookOutcome
        do {
            outcome = try hook.outcome(of: call, reader: HookReader(settings: settings, parser: parser))
        } catch {
            throw refused(hook, "malformed", HTTPProblem(OrchestratorError(error)))
        }
        if let seconds = limits.events.take(max(1, outcome.events.count), by: .hook(hook.name)) {
            throw refused(hook, "throttled", .tooMany("events", retryAfter: seconds, setting: "http.rate.events"))
        }
        let verdict = await verdict(on: outcome, of: hook, call, receivedAt, context.logger)
        return Response(hook.answer(verdict, to: outcome))
    }

    /// Returns the hook named in the path, if it is enabled.
    private func hook(_ context: OrchestratorContext) throws -> (any EventHook, HookSettings) {
        let name = try context.parameters.require("hook")
        guard let hook = hooks.first(where: { $0.name.hasSameUTF8(as: name) }) else {
            metrics.count(.hookCalls, "other", "unknown")
            throw HTTPProblem.unknownHook(name, among: hooks.map(\.name))
        }
        guard let settings = rules.settings[hook.name] else {
            throw refused(hook, "disabled", .disabledHook(hook.name))
        }
        return (hook, settings)
    }

    private func authenticate(
        _ call: HookRequest, _ hook: any EventHook, _ settings: HookSettings
    ) throws(HTTPProblem) {
        guard !hook.isAuthentic(call, secret: settings.secret) else { return }
        if let seconds = limits.failures.take(by: .address(call.peer)) {
            throw refused(hook, "throttled", .tooManyHookFailures(seconds))
        }
        throw refused(hook, "unauthorized", .hookSecret(hook.name))
    }

    /// Reads the body. Of unauthenticated callers, only a bounded number of bodies are read at once, for a bounded
    /// time.
    private func body(
        of request: Request, _ hook: any EventHook, _ context: OrchestratorContext
    ) async throws -> [UInt8] {
        guard request.head.announcesBody else { return [] }
        let limit = hook.longestBody
        do {
            try request.checkLength(upTo: limit)
            context.wantsBody(of: request)
            guard hook.signsBody else { return try await request.bytes(upTo: limit) }
            let channel = context.channel
            let body = try await gate.pass(from: context.peer) { () async throws -> [UInt8] in
                let timer = channel.eventLoop.scheduleTask(in: BodyGate.patience) { channel.close(promise: nil) }
                defer { timer.cancel() }
                return try await request.bytes(upTo: limit)
            }
            guard let body else { throw HTTPProblem.tooManyHookBodies }
            return body
        } catch let problem as HTTPProblem {
            throw refused(hook, problem.status == .serviceUnavailable ? "throttled" : "malformed", problem)
        }
    }

    /// Counts a refusal that the hook's own answer does not express.
    private func refused(_ hook: any EventHook, _ result: String, _ problem: HTTPProblem) -> HTTPProblem {
        metrics.count(.hookCalls, hook.name, result)
        return problem
    }
}

extension Response {
    init(_ answer: HookAnswer) {
        var headers: HTTPFields = [:]
        if let type = answer.contentType { headers[.contentType] = type }
        if answer.status == 503 { headers[.retryAfter] = "1" }
        self.init(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: answer.body.isEmpty ? .init() : ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
