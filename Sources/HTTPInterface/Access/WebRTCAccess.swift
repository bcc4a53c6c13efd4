import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// Decides who may publish or watch over WebRTC: the holder of a token with the scope for it (as a bearer token), or of
/// a signed URL. With neither tokens nor keys configured, all clients may, and the service listens on loopback only.
package struct WebRTCAccess: Sendable {
    /// The purpose of a request.
    package enum Purpose: Hashable, Sendable {
        case publishing, watching

        /// Scopes of which a token needs one. A publisher in a room can see the other publishers.
        fileprivate var scopes: [Scope] {
            switch self {
            case .publishing: [.publish]
            case .watching: [.read, .publish]
            }
        }
    }

    private let purpose: Purpose
    private let tokens: AccessTokens
    /// The apps that a path may name besides the standard one.
    private let apps: Set<AppID>
    private let signatures: PlaybackAccess
    private let limits: RateLimits

    /// - Parameter signatures: Access of the ingest for publishers, or of playback for viewers; open if no key is
    ///   configured.
    package init(
        _ purpose: Purpose, tokens: AccessTokens, apps: Set<AppID>, signatures: PlaybackAccess, limits: RateLimits
    ) {
        self.purpose = purpose
        self.tokens = tokens
        self.apps = apps
        self.signatures = signatures
        self.limits = limits
    }

    /// Returns the caller who wants to begin a session, including the app.
    ///
    /// - Parameters:
    ///   - named: The app in the path, if there is one.
    ///   - isOpen: Whether it is open to all unless URLs are signed, like programs over HTTP-FLV.
    func caller(
        _ request: Request, _ context: OrchestratorContext, app named: String?, isOpen: Bool = false
    ) throws -> Caller {
        var caller = try authenticate(request, context, isOpen: isOpen) { () throws -> Caller? in
            guard let signature = request.uri.queryParameters[PlaybackAccess.parameter[...]], !signatures.isOpen else {
                return nil
            }
            do throws(PlaybackAccess.Refusal) {
                try signatures.check(
                    path: request.uri.path, authKey: String(signature), now: Int(Date.now.timeIntervalSince1970))
            } catch {
                throw counted(refused(error), context)
            }
            return .anonymous()
        }
        let rule: AppRule = caller.token == nil ? .any(apps) : .only(caller.app)
        caller.app = try rule.app(named, field: "app")
        return caller
    }

    /// Returns the caller who wants to change a session: the holder of a token, or any client that knows the session's
    /// address.
    ///
    /// - Parameter isOpen: Whether sessions may have begun without a token although there are tokens.
    func holder(_ request: Request, _ context: OrchestratorContext, isOpen: Bool = false) throws -> Caller {
        try authenticate(request, context, isOpen: isOpen) { signatures.isOpen ? nil : .anonymous() }
    }

    /// - Parameter other: Returns a caller who is allowed without a token although access is not open.
    private func authenticate(
        _ request: Request, _ context: OrchestratorContext, isOpen: Bool, other: () throws -> Caller?
    ) throws -> Caller {
        if tokens.isEmpty { try BrowserGuard.check(request.head) }
        if !tokens.isEmpty, let token = AccessMiddleware.token(request) {
            guard let caller = tokens.caller(showing: token) else { throw unauthorized(context) }
            guard !caller.scopes.isDisjoint(with: purpose.scopes) else {
                throw HTTPProblem.missingScope(.scope(purpose.scopes[0]))
            }
            return caller
        }
        if let caller = try other() { return caller }
        guard signatures.isOpen, tokens.isEmpty || isOpen else {
            throw tokens.isEmpty || isOpen ? refused(.missing) : unauthorized(context)
        }
        return .anonymous()
    }

    private func refused(_ refusal: PlaybackAccess.Refusal) -> HTTPProblem {
        switch purpose {
        case .publishing: .publishingRefused(refusal)
        case .watching: HTTPProblem(OrchestratorError(refusal))
        }
    }

    private func unauthorized(_ context: OrchestratorContext) -> HTTPProblem { counted(.unauthorized, context) }

    /// Counts a refusal and returns the problem to answer with.
    ///
    /// Only refusals are slowed down: behind a proxy, clients with valid credentials have the same address as all others.
    private func counted(_ problem: HTTPProblem, _ context: OrchestratorContext) -> HTTPProblem {
        guard let seconds = limits.failures.take(by: .address(context.peer)) else { return problem }
        return .tooManyGuesses(seconds)
    }
}

extension HTTPProblem {
    fileprivate static func tooManyGuesses(_ seconds: Int) -> HTTPProblem {
        .tooMany("requests without a valid token", retryAfter: seconds, setting: "http.rate.failures")
    }

    fileprivate static func publishingRefused(_ refusal: PlaybackAccess.Refusal) -> HTTPProblem {
        let name = PlaybackAccess.parameter
        let detail =
            switch refusal {
            case .missing: "the URL has no \(name), but ingest.key is set"
            case .malformed: "\(name) is not of the form unix-rand-uid-md5"
            case .wrong: "\(name) was not made for this path with a known key"
            case .expired(let seconds): "the URL expired \(seconds) s ago"
            }
        return HTTPProblem(
            .forbidden, "publishing-refused", "The URL does not let its holder publish", detail: detail, field: name,
            expected: "a URL signed for this path with ingest.key, as `mixorchestrator sign-url` prints it")
    }
}
