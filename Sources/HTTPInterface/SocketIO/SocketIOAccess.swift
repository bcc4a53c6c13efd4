import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService
import SocketIO

/// Decides who may connect over Socket.IO, and in which app.
///
/// Clients of old versions can present a token only in the URL or in a header, those of version 4 also in the packet
/// with which they connect to the namespace. The connection itself therefore needs no token: it can do nothing before
/// it is connected to the namespace.
struct SocketIOAccess: Sendable {
    let tokens: AccessTokens
    /// The apps that a client may name besides the standard one.
    let apps: Set<AppID>
    let limits: RateLimits
    let origins: PlaybackOrigins
    /// Whether clients without a token are admitted although tokens are configured.
    let isOpen: Bool

    /// The credentials that a connection begins with.
    struct Shown: Hashable, Sendable {
        var caller: Caller?
        /// App that the client names.
        var app: String?
    }

    /// Scopes of which a token needs one.
    static let scopes: [Scope] = [.chat, .read, .publish, .tasks]

    /// Checks a request, and returns its credentials.
    ///
    /// - Throws: `HTTPProblem` of status 401, 403, 421 or 429.
    func check(
        _ head: HTTPRequest, _ value: (String) -> String?, address: String, isUpgrade: Bool
    ) throws(HTTPProblem) -> Shown {
        if tokens.isEmpty { try checkPage(head, isUpgrade: isUpgrade) }
        let shown = try shown(head, value, address: address)
        if let seconds = limits.requests.take(by: key(shown.caller, address)) {
            throw .tooMany("requests", retryAfter: seconds, setting: "http.rate.requests")
        }
        return shown
    }

    /// Returns the credentials of a request.
    func shown(_ head: HTTPRequest, _ value: (String) -> String?, address: String) throws(HTTPProblem) -> Shown {
        var caller: Caller?
        if !tokens.isEmpty, let token = AccessMiddleware.token(head.headerFields) ?? value("token") {
            caller = try self.caller(showing: token, address: address)
        }
        return Shown(caller: caller, app: value("app"))
    }

    /// Refuses web pages that may not connect. The requested host is checked for every page.
    private func checkPage(_ head: HTTPRequest, isUpgrade: Bool) throws(HTTPProblem) {
        guard let origin = head.headerFields[.origin], origins.contains(origin) else {
            return try BrowserGuard.check(head, isUpgrade: isUpgrade)
        }
        try BrowserGuard.checkHost(head)
    }

    func key(_ caller: Caller?, _ address: String) -> RateLimiter.Key {
        caller?.token.map { .token($0) } ?? .address(address)
    }

    private func caller(showing token: String, address: String) throws(HTTPProblem) -> Caller {
        guard let caller = tokens.caller(showing: token) else {
            // Only refusals are slowed down: behind a proxy, clients with valid tokens have the same address as all others.
            if let seconds = limits.failures.take(by: .address(address)) {
                throw .tooMany("requests without a valid token", retryAfter: seconds, setting: "http.rate.failures")
            }
            throw .unauthorized
        }
        guard !caller.scopes.isDisjoint(with: Self.scopes) else { throw .missingScope(.scope(.chat)) }
        return caller
    }

    /// Decides whether a client is admitted to the namespace.
    ///
    /// - Parameter auth: The client's data for the namespace, of which `token` and `app` are used.
    func admit(_ shown: Shown, auth: JSONValue?, address: String) throws(SocketIORefusal) -> Caller {
        var fields: [String: JSONValue] = [:]
        if case .object(let members)? = auth { fields = members }
        var caller = shown.caller
        if caller == nil, !tokens.isEmpty, case .string(let token)? = fields["token"] {
            do {
                caller = try self.caller(showing: token, address: address)
            } catch {
                throw SocketIORefusal(message: error.detail, data: .object(["code": .string(error.code)]))
            }
        }
        guard caller != nil || tokens.isEmpty || isOpen else {
            throw SocketIORefusal(
                message:
                    "a token with the scope chat, read, publish or tasks is required: auth: { token }, or ?token= in the URL",
                data: .object(["code": .string("unauthorized")]))
        }
        var named = shown.app
        if case .string(let app)? = fields["app"] { named = app }
        do {
            return try self.caller(caller, naming: named)
        } catch {
            throw SocketIORefusal(
                message: "app: found \(error.found ?? "nothing"); expected \(error.expected)",
                data: .object(["code": .string(error.code.rawValue)]))
        }
    }

    /// Returns the app of a connection whose client has not connected to a namespace yet.
    ///
    /// - Returns: `nil` if the client may name the app, or present its token, only then.
    func app(of shown: Shown, _ version: EngineIOVersion) -> AppID? {
        if let caller = shown.caller { return caller.app }
        // A client that needs a token is not believed without one: it could take the places of any app.
        guard tokens.isEmpty || isOpen, shown.app != nil || version == .three else { return nil }
        return (try? caller(nil, naming: shown.app))?.app
    }

    /// Returns the caller of a request that needs no connection.
    ///
    /// - Throws: `HTTPProblem` of status 401, 403 or 422.
    func caller(_ shown: Shown) throws(HTTPProblem) -> Caller {
        guard shown.caller != nil || tokens.isEmpty || isOpen else { throw .unauthorized }
        do {
            return try caller(shown.caller, naming: shown.app)
        } catch {
            throw HTTPProblem(OrchestratorError(error))
        }
    }

    /// Returns the caller with the app in which it acts.
    private func caller(_ caller: Caller?, naming app: String?) throws(InputError) -> Caller {
        let rule: AppRule = caller.map { .only($0.app) } ?? .any(apps)
        let app = try rule.app(app, field: "app")
        guard var caller else { return .anonymous(app, scopes: tokens.isEmpty ? Scope.all : []) }
        caller.app = app
        return caller
    }
}
