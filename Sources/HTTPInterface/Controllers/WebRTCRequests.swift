import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService

/// The common part of the routes of WHIP (RFC 9725) and WHEP: the exchange of session descriptions, and web pages of
/// other origins.
struct WebRTCRequests: Sendable {
    let limits: RateLimits
    /// Web pages of other origins that may publish and watch.
    let origins: PlaybackOrigins
    /// The nodes of sessions.
    let homes: SessionHomes
    /// Sessions that a client begins in a second: they cost the service a process, or at least a connection of many threads.
    private let starts = RateLimiter(rate: 5)

    static let offerType = "application/sdp"
    static let fragmentType = "application/trickle-ice-sdpfrag"

    init(limits: RateLimits, origins: PlaybackOrigins, homes: SessionHomes) {
        self.homes = homes
        self.limits = limits
        self.origins = origins
    }

    /// Counts a session that the caller begins. Has no typed `throws`, like `RateLimits.takeRequest(of:_:)`.
    func takeStart(_ caller: Caller, _ context: OrchestratorContext) throws {
        guard let seconds = starts.take(by: caller.token.map { .token($0) } ?? .address(context.peer)) else { return }
        throw HTTPProblem(
            .tooManyRequests, "rate-limited", "Too many sessions begin",
            detail: "retry in \(seconds) s; a client begins at most 5 in a second",
            headers: [.retryAfter: "\(seconds)"])
    }

    /// Returns the offer in the body.
    func offer(of request: Request, _ context: OrchestratorContext) async throws -> String {
        try await body(of: request, Self.offerType, upTo: WebRTCCommand.longestDescription, context)
    }

    /// Returns the fragment of a session description in the body.
    func fragment(of request: Request, _ context: OrchestratorContext) async throws -> String {
        try await body(of: request, Self.fragmentType, upTo: WebRTCCommand.longestFragment, context)
    }

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

    func readable(_ request: Request, _ handler: () async throws -> Response) async throws -> Response {
        try await origins.readable(
            request, exposing: "Location, ETag, Link, Accept-Patch, Retry-After, WWW-Authenticate", handler)
    }

    /// Returns the condition of a change.
    func condition(_ request: Request) throws -> WebRTCCondition {
        guard let text = request.headers[.ifMatch] else { return .none }
        let tags = try EntityTags.parse(text)
        return tags == ["*"] ? .any : .tags(tags)
    }

    // MARK: - Answers

    /// Returns the answer to an offer.
    ///
    /// - Parameter sessions: Path of the sessions, with its last slash.
    func created(_ opening: WebRTCOpening, sessions: String, _ servers: [WebRTCRules.ICEServer]) -> Response {
        var headers: HTTPFields = [
            .contentType: Self.offerType, .location: sessions + homes.address(of: opening.id), .eTag: opening.tag.text,
            .acceptPatch: Self.fragmentType, .cacheControl: "no-store",
        ]
        for server in servers { headers.append(HTTPField(name: .link, value: Self.link(to: server))) }
        return Response(status: .created, headers: headers, body: .init(byteBuffer: ByteBuffer(string: opening.answer)))
    }

    /// Returns the answer to a CORS preflight of a session, or of a route that begins sessions.
    ///
    /// - Parameters:
    ///   - isSession: Whether a text may be the identifier of a session.
    ///   - failure: Thrown if the identifier in the path cannot be one.
    /// - Throws: `failure`, and `InputError` if another name in the path is not valid.
    func preflight(
        _ request: Request, _ context: OrchestratorContext, isSession: (String) -> Bool,
        otherwise failure: OrchestratorError
    ) throws -> Response {
        let session = context.parameters.get("session").map { SessionHomes.identifier(in: $0) }
        if let session {
            guard isSession(session) else { throw failure }
        } else {
            for name in ["app", "room", "user"] where context.parameters.get(name) != nil {
                _ = try context.identifier(name)
            }
        }
        return preflight(request, isSession: session != nil)
    }

    private func preflight(_ request: Request, isSession: Bool) -> Response {
        var headers = origins.headers(origin: request.headers[.origin])
        let methods = isSession ? "DELETE, OPTIONS, PATCH" : "OPTIONS, POST"
        headers[.allow] = methods
        headers[.accessControlAllowMethods] = methods
        headers[.accessControlAllowHeaders] = "Authorization, Content-Type, If-Match"
        headers[.accessControlMaxAge] = "86400"
        headers[isSession ? .acceptPatch : .acceptPost] = isSession ? Self.fragmentType : Self.offerType
        return Response(status: .noContent, headers: headers)
    }

    /// Returns a server in the form of RFC 9725 §4.6.
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
