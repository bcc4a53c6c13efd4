import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel

/// Decides who may publish over WHIP: the holder of a token with the scope `publish` (as a bearer token), or of a URL signed
/// with a key of the ingest. With neither tokens nor keys configured, everybody may, and the service listens on loopback only.
package struct WHIPAccess: Sendable {
    private let tokens: AccessTokens
    /// The apps that a path may name besides the standard one.
    private let apps: Set<AppID>
    private let signatures: PlaybackAccess
    private let limits: RateLimits

    /// - Parameter signatures: Those of the ingest; open if no key is configured.
    package init(tokens: AccessTokens, apps: Set<AppID>, signatures: PlaybackAccess, limits: RateLimits) {
        self.tokens = tokens
        self.apps = apps
        self.signatures = signatures
        self.limits = limits
    }

    /// Returns who wants to publish, and to which app.
    ///
    /// - Parameter named: The app in the path, if there is one.
    func publisher(_ request: Request, _ context: OrchestratorContext, app named: String?) throws -> Caller {
        var caller = try authenticate(request, context) { () throws -> Caller? in
            guard let signature = request.uri.queryParameters[PlaybackAccess.parameter[...]], !signatures.isOpen else {
                return nil
            }
            do throws(PlaybackAccess.Refusal) {
                try signatures.check(
                    path: request.uri.path, authKey: String(signature), now: Int(Date.now.timeIntervalSince1970))
            } catch {
                _ = limits.failures.take(by: .address(context.peer))
                throw HTTPProblem.publishingRefused(error)
            }
            return .anonymous()
        }
        let rule: AppRule = caller.token == nil ? .any(apps) : .only(caller.app)
        caller.app = try rule.app(named, field: "app")
        return caller
    }

    /// Returns who wants to change a session: the holder of a token, or whoever knows the session's address.
    func holder(_ request: Request, _ context: OrchestratorContext) throws -> Caller {
        try authenticate(request, context) { signatures.isOpen ? nil : .anonymous() }
    }

    /// - Parameter other: Returns a caller who may do it without a token although not everybody may.
    private func authenticate(
        _ request: Request, _ context: OrchestratorContext, other: () throws -> Caller?
    ) throws -> Caller {
        if tokens.isEmpty { try BrowserGuard.check(request.head) }
        if let seconds = limits.failures.wait(by: .address(context.peer)) { throw HTTPProblem.tooManyGuesses(seconds) }
        if !tokens.isEmpty, let token = AccessMiddleware.token(request) {
            guard let caller = tokens.caller(showing: token) else { throw unauthorized(context) }
            guard caller.scopes.contains(.publish) else { throw HTTPProblem.missingScope(.scope(.publish)) }
            return caller
        }
        if let caller = try other() { return caller }
        guard tokens.isEmpty, signatures.isOpen else {
            throw tokens.isEmpty ? HTTPProblem.publishingRefused(.missing) : unauthorized(context)
        }
        return .anonymous()
    }

    private func unauthorized(_ context: OrchestratorContext) -> HTTPProblem {
        _ = limits.failures.take(by: .address(context.peer))
        return .unauthorized
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
