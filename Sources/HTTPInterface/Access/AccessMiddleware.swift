import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel

/// Decides whether a request is served: identifies the caller, checks the permission, and enforces the request rate.
///
/// Without tokens the service listens on loopback only, and every local client may do everything except web pages.
package struct AccessMiddleware: RouterMiddleware {
    let tokens: AccessTokens
    /// The apps that a request may name besides the standard one.
    let apps: Set<AppID>
    let limits: RateLimits

    package init(tokens: AccessTokens, apps: Set<AppID>, limits: RateLimits) {
        self.tokens = tokens
        self.apps = apps
        self.limits = limits
    }

    package func handle(
        _ request: Request, context: OrchestratorContext,
        next: (Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response {
        // These routes authenticate the request themselves. No client without an access key can sign and none without
        // its secret can call a hook, web pages included, so the other checks are unnecessary. Those of WebRTC, channels
        // and Socket.IO make them, because web pages have to be able to read their refusals.
        switch context.endpointPath.flatMap({ RouteAccess.of(request.method, $0) }) {
        case .signed, .hook, .webrtc, .channel, .socketIO: return try await next(request, context)
        case .open, .scope, nil: break
        }
        var context = context
        context.caller = tokens.isEmpty ? try anybody(request, context) : try caller(request, context)
        // All of a node's requests come from one address. It has counted its viewers.
        if !context.isCarriedOver, let seconds = limits.requests.take(by: RateLimits.key(context)) {
            throw HTTPProblem.tooMany("requests", retryAfter: seconds, setting: "http.rate.requests")
        }
        // The token determines the app. A request whose `?app=` names another app is refused.
        if context.caller.token != nil, let named = try Self.namedApp(request, context) {
            _ = try AppRule.only(context.caller.app).app(named, field: "app")
        }
        if ExpectedBody.isAnnounced(by: request.head), context.endpointPath != nil {
            try request.checkLength()
            context.wantsBody(of: request)
        }
        return try await next(request, context)
    }

    /// Returns the anonymous caller of a service without tokens. `?app=` selects the app whose rooms the request
    /// concerns.
    private func anybody(_ request: Request, _ context: OrchestratorContext) throws -> Caller {
        try BrowserGuard.check(request.head)
        let app = try Self.namedApp(request, context).map { try AppRule.any(apps).app($0, field: "app") }
        return .anonymous(app ?? .standard, scopes: Scope.all)
    }

    /// Returns the value of `?app=`, or `nil` for routes outside `/v1/`.
    private static func namedApp(_ request: Request, _ context: OrchestratorContext) throws(InputError) -> String? {
        guard request.uri.query != nil, context.endpointPath?.hasPrefix("/v1/") == true else { return nil }
        return try request.queryText("app")
    }

    private func caller(_ request: Request, _ context: OrchestratorContext) throws(HTTPProblem) -> Caller {
        // An unknown path has no route. Clients without a valid token get 401 for it and do not learn whether it
        // exists.
        let access = context.endpointPath.flatMap { RouteAccess.of(request.method, $0) }
        if access == .open { return .anonymous() }
        guard let caller = Self.token(request).flatMap({ tokens.caller(showing: $0) }) else {
            if let seconds = limits.failures.take(by: .address(context.peer)) {
                throw .tooMany(
                    "requests without a valid token", retryAfter: seconds, setting: "http.rate.failures")
            }
            throw .unauthorized
        }
        guard context.endpointPath != nil else { return caller }
        guard case .scope(let scope) = access, caller.scopes.contains(scope) else {
            throw .missingScope(access)
        }
        return caller
    }

    /// Returns the bearer token of the `Authorization` header (RFC 6750, section 2.1).
    static func token(_ request: Request) -> String? { token(request.headers) }

    /// Returns the bearer token of the `Authorization` header (RFC 6750, section 2.1).
    static func token(_ headers: HTTPFields) -> String? {
        guard let value = headers[.authorization], value.prefix(7).lowercased() == "bearer " else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }
}

extension HTTPProblem {
    static let unauthorized = HTTPProblem(
        .unauthorized, "unauthorized", "A token is required",
        detail: "the request has no Authorization header with a known token",
        field: "Authorization", expected: "Bearer, followed by one of the tokens configured under apps",
        // RFC 6750, section 3.
        headers: [.wwwAuthenticate: "Bearer realm=\"mixorchestrator\""])

    static func missingScope(_ access: RouteAccess?) -> HTTPProblem {
        guard case .scope(let scope) = access else {
            return HTTPProblem(
                .forbidden, "scope-missing", "The token lacks a scope", detail: "no scope grants access to this route")
        }
        return HTTPProblem(
            .forbidden, "scope-missing", "The token lacks a scope",
            detail: "this requires the scope \(scope.rawValue), which the token does not have", field: "Authorization",
            expected: "a token with the scope \(scope.rawValue)")
    }

    static func tooMany(_ what: String, retryAfter seconds: Int, setting: String) -> HTTPProblem {
        HTTPProblem(
            .tooManyRequests, "rate-limited", "Too many \(what)",
            detail: "retry in \(seconds) s; the limit is \(setting)",
            headers: [.retryAfter: "\(seconds)"])
    }
}
