import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// WHIP (RFC 9725): `POST /whip/{room}/{user}` with an offer begins a session, `PATCH` and `DELETE` of its address change and end it.
///
/// Rooms of apps other than the standard one are at `/whip/{app}/{room}/{user}`; a token's app need not be named.
/// `…/screen` publishes the user's screen in addition to the camera.
package struct WHIPController: Sendable {
    let supervisor: WebRTCSupervisor?
    let access: WebRTCAccess
    private let requests: WebRTCRequests

    /// - Parameters:
    ///   - supervisor: `nil` if WebRTC is switched off, now and in earlier runs.
    ///   - origins: Web pages that may publish.
    ///   - homes: Which node has a session.
    package init(
        supervisor: WebRTCSupervisor?, access: WebRTCAccess, limits: RateLimits, origins: PlaybackOrigins,
        homes: SessionHomes
    ) {
        self.supervisor = supervisor
        self.access = access
        requests = WebRTCRequests(limits: limits, origins: origins, homes: homes)
    }

    /// Adds the routes.
    ///
    /// The router requires the same parameter name at the same position: without an app the first name is the room's.
    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("whip/{app}/{room}", use: begin)
        router.post("whip/{app}/{room}/screen", use: beginScreen)
        router.post("whip/{app}/{room}/{user}", use: begin)
        router.post("whip/{app}/{room}/{user}/screen", use: beginScreen)
        router.on("whip/{app}/{room}", method: .options, use: preflight)
        router.on("whip/{app}/{room}/screen", method: .options, use: preflight)
        router.on("whip/{app}/{room}/{user}", method: .options, use: preflight)
        router.on("whip/{app}/{room}/{user}/screen", method: .options, use: preflight)
        router.patch("whip-sessions/{session}", use: change)
        router.delete("whip-sessions/{session}", use: end)
        router.on("whip-sessions/{session}", method: .options, use: preflight)
    }

    // MARK: - Sessions

    @Sendable private func begin(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) { try await begin(.camera, request, context) }
    }

    @Sendable private func beginScreen(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) { try await begin(.screen, request, context) }
    }

    private func begin(
        _ stream: StreamKind, _ request: Request, _ context: OrchestratorContext
    ) async throws -> Response {
        let hasApp = context.parameters.get("user") != nil
        let named = hasApp ? try context.identifier("app") : nil
        let caller = try access.caller(request, context, app: named)
        try requests.limits.takeRequest(of: caller, context)
        let names = StreamNames(
            room: RoomID(app: caller.app, name: try context.newIdentifier(hasApp ? "room" : "app")),
            user: UserID(try context.newIdentifier(hasApp ? "user" : "room")), stream: stream)
        let offer = try await requests.offer(of: request, context)
        guard let supervisor else { throw OrchestratorError.webrtcIsOff }
        try requests.takeStart(caller, context)
        try await requests.homes.takePublisher(of: names.room)
        let opening = try await supervisor.open(
            WebRTCWish(
                names: names, offer: offer, client: WebRTCClient(request.head, address: context.peer),
                needsToken: caller.token != nil))
        return requests.created(opening, sessions: WebRTCPath.publishers, supervisor.iceServers)
    }

    @Sendable private func change(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) {
            let (supervisor, app, id) = try await session(request, context)
            let condition = try requests.condition(request)
            let fragment = try await requests.fragment(of: request, context)
            switch try await supervisor.change(id, of: app, fragment: fragment, condition) {
            case .added: return Response(status: .noContent)
            case .restarted(let fragment, let tag):
                return Response(
                    status: .ok,
                    headers: [.contentType: WebRTCRequests.fragmentType, .eTag: tag.text, .cacheControl: "no-store"],
                    body: .init(byteBuffer: ByteBuffer(string: fragment)))
            }
        }
    }

    @Sendable private func end(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) {
            let (supervisor, app, id) = try await session(request, context)
            try supervisor.close(id, of: app, reason: "the client has left")
            return Response(status: .ok)
        }
    }

    /// Returns the session that the path names, and the app of the caller's token.
    private func session(
        _ request: Request, _ context: OrchestratorContext
    ) async throws -> (WebRTCSupervisor, AppID?, String) {
        let caller = try access.holder(request, context)
        try requests.limits.takeRequest(of: caller, context)
        guard let supervisor else { throw OrchestratorError.webrtcIsOff }
        let id = try await requests.homes.identifier(of: context.parameters.require("session"))
        return (supervisor, caller.token == nil ? nil : caller.app, id)
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try requests.preflight(request, context, isSession: WebRTCSupervisor.isSession, otherwise: .noWHIPSession)
    }
}
