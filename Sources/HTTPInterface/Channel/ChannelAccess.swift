import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomChannel
import RoomService

/// Decides who may follow channels and write to them.
///
/// The holder of a token with the scope `chat` may do both, with `read` follow. Without a token, a URL that is signed
/// with `channel.key` for its path names its user (`uid`), and the configuration decides what anonymous callers may do.
/// With neither tokens nor keys configured, all clients may do both, and the service listens on loopback only.
package struct ChannelAccess: Sendable {
    /// The purpose of a request.
    enum Purpose: Hashable, Sendable {
        case read, write

        /// Scopes of which a token needs one.
        fileprivate var scopes: [Scope] { self == .read ? [.chat, .read] : [.chat] }
    }

    private let tokens: AccessTokens
    /// The apps that a request may name besides the standard one.
    private let apps: Set<AppID>
    private let signatures: PlaybackAccess
    private let limits: RateLimits
    private let anonymous: Set<Purpose>

    /// - Parameters:
    ///   - signatures: Keys of signed URLs; open if there are none.
    ///   - reads: Whether anonymous callers may follow. `writes`: whether they may write.
    package init(
        tokens: AccessTokens, apps: Set<AppID>, signatures: PlaybackAccess, limits: RateLimits, reads: Bool,
        writes: Bool
    ) {
        self.tokens = tokens
        self.apps = apps
        self.signatures = signatures
        self.limits = limits
        let isLocal = tokens.isEmpty && signatures.isOpen
        anonymous = Set((reads || isLocal ? [.read] : []) + (writes || isLocal ? [.write] : []))
    }

    /// Returns the caller, including the app.
    func caller(to purpose: Purpose, _ request: Request, _ context: OrchestratorContext) throws -> Caller {
        if tokens.isEmpty { try BrowserGuard.check(request.head) }
        let named = try request.queryText("app")
        var caller = try identity(purpose, request, context)
        let rule: AppRule = caller.token == nil ? .any(apps) : .only(caller.app)
        caller.app = try rule.app(named, field: "app")
        return caller
    }

    private func identity(
        _ purpose: Purpose, _ request: Request, _ context: OrchestratorContext
    ) throws -> Caller {
        if !tokens.isEmpty, let token = AccessMiddleware.token(request) {
            guard let caller = tokens.caller(showing: token) else { throw unauthorized(context) }
            guard !caller.scopes.isDisjoint(with: purpose.scopes) else {
                throw HTTPProblem.missingScope(.scope(purpose.scopes[0]))
            }
            return caller
        }
        if !signatures.isOpen, let key = request.uri.queryParameters[PlaybackAccess.parameter[...]] {
            do throws(PlaybackAccess.Refusal) {
                let uid = try signatures.check(
                    path: request.uri.path, authKey: String(key), now: Int(Date.now.timeIntervalSince1970))
                var caller = Caller.anonymous()
                // ApsaraVideo's players sign with the uid 0, which means no user.
                if let uid, uid != "0" { caller.user = UserID(try Self.user(uid)) }
                return caller
            } catch {
                throw counted(.channelRefused(error), context)
            }
        }
        if anonymous.contains(purpose) {
            // On loopback, without tokens, callers may speak for any user.
            return .anonymous(scopes: tokens.isEmpty && signatures.isOpen ? Scope.all : [])
        }
        throw unauthorized(context)
    }

    private static func user(_ uid: String) throws(PlaybackAccess.Refusal) -> String {
        do {
            return try EventParser.identifier(uid, field: "uid")
        } catch {
            throw .malformed
        }
    }

    private func unauthorized(_ context: OrchestratorContext) -> HTTPProblem { counted(.unauthorized, context) }

    /// Counts a refusal and returns the problem to answer with.
    ///
    /// Only refusals are slowed down: behind a proxy, callers with valid credentials have the same address as all others.
    private func counted(_ problem: HTTPProblem, _ context: OrchestratorContext) -> HTTPProblem {
        guard let seconds = limits.failures.take(by: .address(context.peer)) else { return problem }
        return .tooMany("requests without a valid token", retryAfter: seconds, setting: "http.rate.failures")
    }

    /// Returns the sender of a message. The holder of a token without a user may speak for any user; all others only
    /// for themselves.
    func sender(
        _ caller: Caller, user: UserID?, name: String?, _ context: OrchestratorContext
    ) throws -> ChannelSender {
        if caller.user == nil, caller.scopes.contains(.chat) {
            return ChannelSender(user: user, name: name, address: context.peer)
        }
        guard user == nil || user == caller.user else {
            throw HTTPProblem(
                .forbidden, "user-refused", "The caller may not speak for this user",
                detail: caller.user.map { "the caller is \($0)" } ?? "the caller is anonymous", field: "user",
                expected: "no user, or a token of the scope chat that names none")
        }
        return ChannelSender(user: caller.user, name: name, address: context.peer)
    }
}

extension HTTPProblem {
    fileprivate static func channelRefused(_ refusal: PlaybackAccess.Refusal) -> HTTPProblem {
        let name = PlaybackAccess.parameter
        let detail =
            switch refusal {
            case .missing: "the URL has no \(name)"
            case .malformed: "\(name) is not of the form unix-rand-uid-md5 with a user as its uid"
            case .wrong: "\(name) was not made for this path with a known key"
            case .expired(let seconds): "the URL expired \(seconds) s ago"
            }
        return HTTPProblem(
            .forbidden, "channel-refused", "The URL does not give access to this channel", detail: detail, field: name,
            expected: "a URL signed for this path with channel.key, as `mixorchestrator sign-url` prints it")
    }
}
