import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// WHEP: `POST /whep/{room}` with an offer plays the room's program over WebRTC, `POST /whep/{room}/{user}` one
/// participant's stream, and `…/screen` the participant's screen. `PATCH` and `DELETE` of the session's address change
/// and end it.
///
/// As in the draft (draft-ietf-wish-whep), in which the client offers. Participants of apps other than the standard one
/// are at `/whep/{app}/{room}/{user}`, their programs at `/live/{app}/{room}.whep`, next to HTTP-FLV; a token's app
/// need not be named.
package struct WHEPController: Sendable {
    let viewers: WebRTCViewers?
    let access: WebRTCAccess
    private let requests: WebRTCRequests

    /// - Parameters:
    ///   - viewers: `nil` if playing over WebRTC is switched off, now and in earlier runs.
    ///   - origins: Web pages that may play.
    ///   - homes: Which node has a session.
    package init(
        viewers: WebRTCViewers?, access: WebRTCAccess, limits: RateLimits, origins: PlaybackOrigins,
        homes: SessionHomes
    ) {
        self.viewers = viewers
        self.access = access
        requests = WebRTCRequests(limits: limits, origins: origins, homes: homes)
    }

    /// Adds the routes.
    ///
    /// The router requires the same parameter name at the same position: without an app the first name is the room's.
    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("whep/{app}") { try await begin($0, $1) { try program($0, $1, room: "app") } }
        router.post("live/{room}.whep") { try await begin($0, $1) { try program($0, $1, room: "room") } }
        router.post("live/{app}/{room}.whep") { try await begin($0, $1) { try program($0, $1, room: "room") } }
        router.post("whep/{app}/{room}") { try await begin($0, $1) { try participant(.camera, $0, $1) } }
        router.post("whep/{app}/{room}/screen") { try await begin($0, $1) { try participant(.screen, $0, $1) } }
        router.post("whep/{app}/{room}/{user}") { try await begin($0, $1) { try participant(.camera, $0, $1) } }
        router.post("whep/{app}/{room}/{user}/screen") { try await begin($0, $1) { try participant(.screen, $0, $1) } }
        router.on("whep/{app}", method: .options, use: preflight)
        router.on("live/{room}.whep", method: .options, use: preflight)
        router.on("live/{app}/{room}.whep", method: .options, use: preflight)
        router.on("whep/{app}/{room}", method: .options, use: preflight)
        router.on("whep/{app}/{room}/screen", method: .options, use: preflight)
        router.on("whep/{app}/{room}/{user}", method: .options, use: preflight)
        router.on("whep/{app}/{room}/{user}/screen", method: .options, use: preflight)
        router.patch("whep-sessions/{session}", use: change)
        router.delete("whep-sessions/{session}", use: end)
        router.on("whep-sessions/{session}", method: .options, use: preflight)
    }

    private typealias Target = (Request, OrchestratorContext) throws -> (WebRTCViewWish.Target, Caller)

    // MARK: - Played streams

    /// - Parameter name: The path's parameter with the name of the room.
    private func program(
        _ request: Request, _ context: OrchestratorContext, room name: String
    ) throws -> (WebRTCViewWish.Target, Caller) {
        let named = name == "app" || context.parameters.get("app") == nil ? nil : try context.identifier("app")
        let caller = try access.caller(request, context, app: named, isOpen: true)
        let room = RoomID(app: caller.app, name: try context.identifier(name))
        let task = try request.queryText("task").map { name in
            TaskID(app: room.app, name: try EventParser.knownIdentifier(name, field: "task"))
        }
        return (.program(room, task: task), caller)
    }

    private func participant(
        _ stream: StreamKind, _ request: Request, _ context: OrchestratorContext
    ) throws -> (WebRTCViewWish.Target, Caller) {
        let hasApp = context.parameters.get("user") != nil
        let caller = try access.caller(request, context, app: hasApp ? try context.identifier("app") : nil)
        let room = RoomID(app: caller.app, name: try context.identifier(hasApp ? "room" : "app"))
        let user = UserID(try context.identifier(hasApp ? "user" : "room"))
        return (.participant(StreamNames(room: room, user: user, stream: stream)), caller)
    }

    // MARK: - Sessions

    private func begin(_ request: Request, _ context: OrchestratorContext, _ target: Target) async throws -> Response {
        try await requests.readable(request) {
            let (target, caller) = try target(request, context)
            try requests.limits.takeRequest(of: caller, context)
            let offer = try await requests.offer(of: request, context)
            guard let viewers else { throw OrchestratorError.whepIsOff }
            try requests.takeStart(caller, context)
            let opening = try await viewers.open(
                WebRTCViewWish(
                    target: target, offer: offer, client: WebRTCClient(request.head, address: context.peer),
                    needsToken: caller.token != nil))
            return requests.created(opening, sessions: WebRTCPath.viewers, viewers.iceServers)
        }
    }

    @Sendable private func change(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) {
            let (viewers, app, id) = try await session(request, context)
            let condition = try requests.condition(request)
            try await viewers.change(
                id, of: app, fragment: try await requests.fragment(of: request, context), condition)
            return Response(status: .noContent)
        }
    }

    @Sendable private func end(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await requests.readable(request) {
            let (viewers, app, id) = try await session(request, context)
            try viewers.close(id, of: app)
            return Response(status: .ok)
        }
    }

    /// Returns the session that the path names, and the app of the caller's token.
    private func session(
        _ request: Request, _ context: OrchestratorContext
    ) async throws -> (WebRTCViewers, AppID?, String) {
        let caller = try access.holder(request, context, isOpen: true)
        try requests.limits.takeRequest(of: caller, context)
        guard let viewers else { throw OrchestratorError.whepIsOff }
        let id = try await requests.homes.identifier(of: context.parameters.require("session"))
        return (viewers, caller.token == nil ? nil : caller.app, id)
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try requests.preflight(request, context, isSession: WebRTCViewers.isSession, otherwise: .noWHEPSession)
    }
}
