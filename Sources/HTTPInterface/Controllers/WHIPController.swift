import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService

/// WHIP (RFC 9725): `POST /whip/{room}/{user}` with an offer begins a session, `PATCH` and `DELETE` of its address change and end it.
///
/// Rooms of apps other than the standard one are at `/whip/{app}/{room}/{user}`; a token's app needs no name. `…/screen` publishes
/// the user's screen beside the camera.
package struct WHIPController: Sendable {
    let supervisor: WebRTCSupervisor?
    let access: WHIPAccess
    let limits: RateLimits
    let origins: PlaybackOrigins
    /// Sessions that a client begins in a second. Each is a process.
    private let starts = RateLimiter(rate: 5)

    private static let offerType = "application/sdp"
    private static let fragmentType = "application/trickle-ice-sdpfrag"

    /// - Parameters:
    ///   - supervisor: `nil` if WebRTC is switched off and was in earlier runs.
    ///   - origins: Web pages that may publish.
    package init(
        supervisor: WebRTCSupervisor?, access: WHIPAccess, limits: RateLimits, origins: PlaybackOrigins
    ) {
        self.supervisor = supervisor
        self.access = access
        self.limits = limits
        self.origins = origins
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
        try await readable(request) { try await begin(.camera, request, context) }
    }

    @Sendable private func beginScreen(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) { try await begin(.screen, request, context) }
    }

    private func begin(
        _ stream: StreamKind, _ request: Request, _ context: OrchestratorContext
    ) async throws -> Response {
        let hasApp = context.parameters.get("user") != nil
        let named = hasApp ? try context.identifier("app") : nil
        let caller = try access.publisher(request, context, app: named)
        try takeRate(caller, context)
        let names = StreamNames(
            room: RoomID(app: caller.app, name: try context.newIdentifier(hasApp ? "room" : "app")),
            user: UserID(try context.newIdentifier(hasApp ? "user" : "room")), stream: stream)
        let offer = try await body(
            of: request, Self.offerType, upTo: WebRTCCommand.longestDescription, context)
        guard let supervisor else { throw OrchestratorError.webrtcIsOff }
        if let seconds = starts.take(by: caller.token.map { .token($0) } ?? .address(context.peer)) {
            throw HTTPProblem(
                .tooManyRequests, "rate-limited", "Too many sessions begin",
                detail: "retry in \(seconds) s; a client begins at most 5 in a second",
                headers: [.retryAfter: "\(seconds)"])
        }
        let opening = try await supervisor.open(
            WebRTCWish(names: names, offer: offer, address: context.peer, needsToken: caller.token != nil))
        var headers: HTTPFields = [
            .contentType: Self.offerType, .location: WHIPPath.sessions + opening.id, .eTag: opening.tag.text,
            .acceptPatch: Self.fragmentType, .cacheControl: "no-store",
        ]
        for server in supervisor.iceServers { headers.append(HTTPField(name: .link, value: Self.link(to: server))) }
        return Response(status: .created, headers: headers, body: .init(byteBuffer: ByteBuffer(string: opening.answer)))
    }

    @Sendable private func change(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            let (supervisor, app, id) = try session(request, context)
            let condition: WebRTCCondition
            if let text = request.headers[.ifMatch] {
                let tags = try EntityTags.parse(text)
                condition = tags == ["*"] ? .any : .tags(tags)
            } else {
                condition = .none
            }
            let fragment = try await body(
                of: request, Self.fragmentType, upTo: WebRTCCommand.longestFragment, context)
            switch try await supervisor.change(id, of: app, fragment: fragment, condition) {
            case .added: return Response(status: .noContent)
            case .restarted(let fragment, let tag):
                return Response(
                    status: .ok,
                    headers: [.contentType: Self.fragmentType, .eTag: tag.text, .cacheControl: "no-store"],
                    body: .init(byteBuffer: ByteBuffer(string: fragment)))
            }
        }
    }

    @Sendable private func end(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            let (supervisor, app, id) = try session(request, context)
            try supervisor.close(id, of: app, reason: "the client has left")
            return Response(status: .ok)
        }
    }

    /// Returns the session that the path names, and the app of the caller's token.
    private func session(
        _ request: Request, _ context: OrchestratorContext
    ) throws -> (WebRTCSupervisor, AppID?, String) {
        let caller = try access.holder(request, context)
        try takeRate(caller, context)
        guard let supervisor else { throw OrchestratorError.webrtcIsOff }
        return (supervisor, caller.token == nil ? nil : caller.app, try context.parameters.require("session"))
    }

    private func takeRate(_ caller: Caller, _ context: OrchestratorContext) throws(HTTPProblem) {
        let key = caller.token.map { RateLimiter.Key.token($0) } ?? .address(context.peer)
        if let seconds = limits.requests.take(by: key) {
            throw .tooMany("requests", retryAfter: seconds, setting: "http.rate.requests")
        }
    }

    /// Returns the body as text.
    private func body(
        of request: Request, _ type: String, upTo limit: Int, _ context: OrchestratorContext
    ) async throws -> String {
        let found = request.headers[.contentType].map { $0.prefix { $0 != ";" }.lowercased().trimmed }
        guard found == type else {
            throw HTTPProblem(
                .unsupportedMediaType, "unsupported-media-type", "The content type is not accepted",
                detail: "found \(found.map { $0.shortened(toBytes: 100) } ?? "none")", field: "Content-Type",
                expected: type)
        }
        try request.checkLength(upTo: limit)
        context.wantsBody(of: request)
        let bytes = try await request.bytes(upTo: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPProblem(
                .badRequest, "offer-malformed", "The body is not a session description", detail: "it is not UTF-8")
        }
        return text
    }

    // MARK: - Web pages

    /// Answers so that web pages that may publish can read the answer, and the reason of a refusal.
    private func readable(_ request: Request, _ handler: () async throws -> Response) async throws -> Response {
        var headers = origins.headers(origin: request.headers[.origin])
        if headers[.accessControlAllowOrigin] != nil {
            headers[.accessControlExposeHeaders] = "Location, ETag, Link, Accept-Patch, Retry-After, WWW-Authenticate"
        }
        var problem: HTTPProblem
        do {
            var response = try await handler()
            response.headers.append(contentsOf: headers)
            return response
        } catch let error as HTTPProblem {
            problem = error
        } catch let error as OrchestratorError {
            problem = HTTPProblem(error)
        } catch let error as InputError {
            problem = HTTPProblem(OrchestratorError(error))
        }
        problem.headers.append(contentsOf: headers)
        throw problem
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        if let id = context.parameters.get("session") {
            guard WebRTCSupervisor.isSession(id) else { throw OrchestratorError.noWHIPSession }
        } else {
            for name in ["app", "room", "user"] where context.parameters.get(name) != nil {
                _ = try context.identifier(name)
            }
        }
        var headers = origins.headers(origin: request.headers[.origin])
        let methods = context.parameters.get("session") == nil ? "OPTIONS, POST" : "DELETE, OPTIONS, PATCH"
        headers[.allow] = methods
        headers[.accessControlAllowMethods] = methods
        headers[.accessControlAllowHeaders] = "Authorization, Content-Type, If-Match"
        headers[.accessControlMaxAge] = "86400"
        if context.parameters.get("session") == nil {
            headers[.acceptPost] = Self.offerType
        } else {
            headers[.acceptPatch] = Self.fragmentType
        }
        return Response(status: .noContent, headers: headers)
    }

    /// A server in the form of RFC 9725 §4.6.
    private static func link(to server: WebRTCRules.ICEServer) -> String {
        var link = "<\(server.url)>; rel=\"ice-server\""
        if let user = server.user, let password = server.password {
            link += "; username=\"\(quoted(user))\"; credential=\"\(quoted(password))\"; credential-type=\"password\""
        }
        return link
    }

    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

extension HTTPField.Name {
    fileprivate static let link = HTTPField.Name("Link") ?? .vary
    fileprivate static let acceptPatch = HTTPField.Name("Accept-Patch") ?? .vary
    fileprivate static let acceptPost = HTTPField.Name("Accept-Post") ?? .vary
}
