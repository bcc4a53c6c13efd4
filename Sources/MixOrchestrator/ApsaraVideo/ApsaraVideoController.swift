import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// `/`: the ApsaraVideo Live interface of 2016-11-01, as its SDKs call it. Answers every request, whatever is wrong with
/// it, in that interface's envelope.
struct ApsaraVideoController: Sendable {
    typealias Action = @Sendable (WireCall) async throws -> [String: JSONValue]

    private let authenticator: WireAuthenticator
    private let actions: [String: Action]
    private let limits: RateLimits
    private let metrics: Metrics

    static let version = "2016-11-01"

    init(
        authenticator: WireAuthenticator, tasks: WireTasks, channels: WireChannels,
        subscriptions: WireSubscriptions, limits: RateLimits, metrics: Metrics
    ) {
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

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("/", use: handle)
        router.post("/", use: handle)
    }

    @Sendable private func handle(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let id = UUID.quick().uuidString
        var action: String?
        var isSigned = false
        do {
            let request = try await WireRequest(request)
            let name = try self.action(of: request)
            action = name
            let key = try authenticate(request, context)
            isSigned = true
            try checkVersion(of: request)
            guard let name, let perform = actions[name] else { throw unknown(name) }
            let call = try WireCall(
                action: name, parameters: request.parameters, key: key, receivedAt: receivedAt)
            var answer = try await perform(call)
            answer["RequestId"] = .string(id)
            metrics.count(.wireCalls, name, "OK")
            return Self.response(.ok, answer)
        } catch {
            let error = CallError(error)
            let name = action.flatMap { actions[$0] == nil ? nil : $0 } ?? "other"
            metrics.count(.wireCalls, name, error.code)
            // The message may repeat what a stranger sent, and strangers may send as much as they like.
            context.logger.log(
                level: error.status.kind == .serverError ? .error : isSigned ? .info : .debug, "call refused",
                metadata: ["action": "\(name)", "code": "\(error.code)", "requestID": "\(id)"])
            return Self.response(error, id, host: request.head.authority)
        }
    }

    private func action(of request: WireRequest) throws(CallError) -> String? {
        try request.name("x-acs-action", "Action")
    }

    private func authenticate(_ request: WireRequest, _ context: OrchestratorContext) throws -> AccessKey {
        let key: AccessKey
        do throws(CallError) {
            key = try authenticator.accessKey(of: request)
        } catch {
            if let seconds = limits.failures.take(by: .address(context.peer)) {
                throw CallError.throttled(
                    "requests without a good signature", retryAfter: seconds, setting: "http.rate.failures")
            }
            throw error
        }
        if let seconds = limits.requests.take(by: .accessKey(key.id)) {
            throw CallError.throttled("requests", retryAfter: seconds, setting: "http.rate.requests")
        }
        return key
    }

    private func checkVersion(of request: WireRequest) throws(CallError) {
        guard let version = try request.name("x-acs-version", "Version") else {
            throw .missing("Version", Self.version)
        }
        guard version == Self.version else {
            throw CallError(
                .badRequest, "InvalidVersion", "Version: found \"\(version.prefix(32))\"; expected \(Self.version)")
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
            "Action: found \"\(action.prefix(64))\"; expected one of " + known.joined(separator: ", ")
                + Suggestion.phrase(for: action, among: known))
    }

    // MARK: Answers

    private static func response(_ status: HTTPResponse.Status, _ fields: [String: JSONValue]) -> Response {
        var bytes: [UInt8] = []
        JSONText.append(.object(fields), to: &bytes)
        return Response(
            status: status, headers: [.contentType: "application/json;charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static func response(_ error: CallError, _ id: String, host: String?) -> Response {
        var response = response(
            error.status,
            [
                "RequestId": .string(id), "HostId": .string(host.map { String($0.prefix(253)) } ?? ""),
                "Code": .string(error.code), "Message": .string(error.message),
            ])
        if let retryAfter = error.retryAfter, let name = Self.retryAfter {
            response.headers[name] = "\(max(1, retryAfter))"
            response.headers[.retryAfter] = "\(max(1, (retryAfter + 999) / 1000))"
        }
        return response
    }

    private static let retryAfter = HTTPField.Name("x-acs-retry-after")
}
