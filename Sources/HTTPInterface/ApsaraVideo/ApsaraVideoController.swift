import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RoomService

/// The ApsaraVideo Live interface of 2016-11-01 at `/`, as its SDKs call it.
///
/// Answers every request in that interface's envelope, malformed requests included. Only people who open the address in a
/// browser are shown the console.
package struct ApsaraVideoController: Sendable {
    typealias Action = @Sendable (WireCall) async throws -> [String: JSONValue]

    private let authenticator: WireAuthenticator
    private let actions: [String: Action]
    private let limits: RateLimits
    private let metrics: Metrics
    private let gate: BodyGate

    static let version = "2016-11-01"

    package init(
        authenticator: WireAuthenticator, tasks: WireTasks, channels: WireChannels,
        subscriptions: WireSubscriptions, limits: RateLimits, metrics: Metrics, gate: BodyGate = BodyGate()
    ) {
        self.gate = gate
        self.authenticator = authenticator
        self.limits = limits
        self.metrics = metrics
        actions = [
            "StartLiveMPUTask": tasks.start, "UpdateLiveMPUTask": tasks.update, "StopLiveMPUTask": tasks.stop,
            "SetLiveMpuTaskSei": tasks.setSEI, "ListRtcMPUTaskDetail": tasks.list,
            "DescribeChannelUsers": channels.users, "DescribeChannelParticipants": channels.participants,
            "ListRTCLiveRooms": channels.rooms, "DeleteChannel": channels.delete,
            "RemoveTerminals": channels.removeTerminals,
            "CreateEventSub": subscriptions.create, "UpdateEventSub": subscriptions.update,
            "DeleteEventSub": subscriptions.delete, "ListEventSub": subscriptions.list,
            "ListEventSubEvent": subscriptions.listAttempts, "CreateRtcMPUEventSub": subscriptions.createOfTasks,
            "UpdateRtcMPUEventSub": subscriptions.updateOfTasks,
            "DeleteRtcMPUEventSub": subscriptions.deleteOfTasks,
            "DescribeRtcMPUEventSub": subscriptions.describeOfTasks,
            "ListRtcMPUEventSubRecord": subscriptions.listAttemptsOfTasks,
        ]
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("/", use: handle)
        router.post("/", use: handle)
    }

    @Sendable private func handle(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        if BrowserVisit.isVisit(request) { return BrowserVisit.response(to: "console") }
        let receivedAt = MonotonicClock.now()
        let id = UUID.quick().uuidString
        var action: String?
        var isSigned = false
        var format = WireFormat.json
        do {
            let head = try WireRequest(headOf: request)
            // Used only for metrics until the signature has been verified.
            action = head.headers["x-acs-action"] ?? head.parameters["Action"]
            format = head.format
            let (signed, key) = try await authenticate(head, request, context)
            isSigned = true
            format = signed.format
            let name = try self.action(of: signed)
            action = name
            try checkVersion(of: signed)
            guard let name, let perform = actions[name] else { throw unknown(name) }
            let call = try WireCall(
                action: name, parameters: signed.parameters, key: key, receivedAt: receivedAt)
            var answer = try await perform(call)
            answer["RequestId"] = .string(id)
            metrics.count(.wireCalls, name, "OK")
            return Self.response(.ok, answer, format, root: name + "Response")
        } catch {
            let error = CallError(error)
            let name = action.flatMap { actions[$0] == nil ? nil : $0 } ?? "other"
            metrics.count(.wireCalls, name, error.code)
            // The message may repeat input from an unauthenticated client, whose amount is unlimited.
            context.logger.log(
                level: error.status.kind == .serverError ? .error : isSigned ? .info : .debug, "call refused",
                metadata: ["action": "\(name)", "code": "\(error.code)", "requestID": "\(id)"])
            return Self.response(error, id, host: request.head.authority, format)
        }
    }

    private func action(of request: WireRequest) throws(CallError) -> String? {
        try request.name("x-acs-action", "Action")
    }

    /// Reads and authenticates a request.
    ///
    /// If the head identifies the caller, the body is read afterwards up to the normal limit. Otherwise the limit is
    /// `BodyGate.longestBody`, and only a bounded number of bodies are read at once.
    private func authenticate(
        _ head: WireRequest, _ request: Request, _ context: OrchestratorContext
    ) async throws -> (WireRequest, AccessKey) {
        let standing: WireAuthenticator.Standing
        do throws(CallError) {
            standing = try authenticator.standing(ofHead: head, hasBody: request.head.announcesBody)
        } catch {
            throw counted(error, context)
        }
        var call = head
        switch standing {
        case .proven(let key):
            try takeRequest(of: key)
            return (call, key)
        case .signed(let key, _):
            try takeRequest(of: key)
            try call.take(try await self.body(of: request, upTo: BodyLimit.bytes, context))
        case .unproven:
            if let seconds = limits.failures.wait(by: .address(context.peer)) { throw Self.tooManyFailures(seconds) }
            let channel = context.channel
            let body = try await gate.pass(from: context.peer) { () async throws -> [UInt8] in
                let limit = channel.eventLoop.scheduleTask(in: BodyGate.patience) { channel.close(promise: nil) }
                defer { limit.cancel() }
                return try await self.body(of: request, upTo: BodyGate.longestBody, context)
            }
            guard let body else {
                throw CallError.unavailable(
                    "too many calls with a signature in the body are being read: retry in a second, or send the "
                        + "parameters in the query")
            }
            try call.take(body)
        }
        let key: AccessKey
        do throws(CallError) {
            key = try authenticator.accessKey(of: call, standing)
        } catch {
            throw counted(error, context)
        }
        if case .unproven = standing { try takeRequest(of: key) }
        return (call, key)
    }

    private func body(of request: Request, upTo limit: Int, _ context: OrchestratorContext) async throws -> [UInt8] {
        guard request.head.announcesBody else { return [] }
        try request.checkLength(upTo: limit)
        context.wantsBody(of: request)
        return try await request.bytes(upTo: limit)
    }

    private func takeRequest(of key: AccessKey) throws(CallError) {
        guard let seconds = limits.requests.take(by: .accessKey(key.id)) else { return }
        throw CallError.throttled("requests", retryAfter: seconds, setting: "http.rate.requests")
    }

    /// Counts a failed authentication and returns the error to answer with. The rate limit slows down guessing.
    private func counted(_ error: CallError, _ context: OrchestratorContext) -> CallError {
        limits.failures.take(by: .address(context.peer)).map(Self.tooManyFailures) ?? error
    }

    private static func tooManyFailures(_ seconds: Int) -> CallError {
        .throttled("requests without a valid signature", retryAfter: seconds, setting: "http.rate.failures")
    }

    private func checkVersion(of request: WireRequest) throws(CallError) {
        guard let version = try request.name("x-acs-version", "Version") else {
            throw .missing("Version", Self.version)
        }
        guard version == Self.version else {
            throw CallError(
                .badRequest, "InvalidVersion",
                "Version: found \"\(version.prefix(bytes: 32))\"; expected \(Self.version)")
        }
    }

    private func unknown(_ action: String?) -> CallError {
        let known = actions.keys.sorted()
        guard let action else {
            return .missing(
                "Action", "the header x-acs-action, or the parameter, with one of " + known.joined(separator: ", "))
        }
        return CallError(
            .notFound, "InvalidAction.NotFound",
            "Action: found \"\(action.prefix(bytes: 64))\"; expected one of " + known.joined(separator: ", ")
                + Suggestion.phrase(for: action, among: known))
    }

    // MARK: Answers

    private static func response(
        _ status: HTTPResponse.Status, _ fields: [String: JSONValue], _ format: WireFormat, root: String
    ) -> Response {
        Response(
            status: status, headers: [.contentType: format.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: format.bytes(of: fields, root: root))))
    }

    private static func response(_ error: CallError, _ id: String, host: String?, _ format: WireFormat) -> Response {
        var response = response(
            error.status,
            [
                "RequestId": .string(id), "HostId": .string(host.map { String($0.prefix(bytes: 253)) } ?? ""),
                "Code": .string(error.code), "Message": .string(error.message),
            ], format, root: "Error")
        if let retryAfter = error.retryAfter, let name = Self.retryAfter {
            response.headers[name] = "\(max(1, retryAfter))"
            response.headers[.retryAfter] = "\(max(1, (retryAfter + 999) / 1000))"
        }
        return response
    }

    private static let retryAfter = HTTPField.Name("x-acs-retry-after")
}
