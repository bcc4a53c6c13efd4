import EventSubscription

/// Refusals of calls to `/v1/hooks`. None contains the secret or the path.
extension HTTPProblem {
    static func unknownHook(_ name: String, among names: [String]) -> HTTPProblem {
        HTTPProblem(
            .notFound, "hook-not-found", "There is no such hook",
            detail: "there is no hook \(JSONValue.string(name).summary)" + Suggestion.phrase(for: name, among: names),
            field: "hook", expected: "one of " + names.joined(separator: ", "))
    }

    static func disabledHook(_ name: String) -> HTTPProblem {
        HTTPProblem(
            .notFound, "hook-not-enabled", "The hook is not enabled",
            detail: "no secret is configured for \(name)", field: "hook",
            expected: "hooks.\(name).secretFile (or secret) in the configuration file, then a restart")
    }

    static func hookSecret(_ name: String) -> HTTPProblem {
        HTTPProblem(
            .unauthorized, "hook-unauthorized", "The secret is missing or wrong",
            detail: "the call does not contain the secret of the hook \(name)", field: "token",
            expected: "the value of hooks.\(name).secret, as the server's kind sends it: "
                + "/v1/hooks/\(name)?token=…, /v1/hooks/\(name)/…, or its signature",
            headers: [.wwwAuthenticate: "Bearer realm=\"hooks\""])
    }

    static func hookAddress(_ peer: String, _ name: String) -> HTTPProblem {
        HTTPProblem(
            .forbidden, "hook-address-refused", "The caller's address is not allowed",
            detail: "calls from \(peer.shortened(toBytes: 64)) are refused", field: "hook",
            expected: "an address that hooks.\(name).allow lists; an empty list allows loopback addresses only")
    }

    static func tooManyHookFailures(_ seconds: Int) -> HTTPProblem {
        .tooMany("calls without the hook's secret", retryAfter: seconds, setting: "http.rate.failures")
    }

    static let tooManyHookBodies = HTTPProblem(
        .serviceUnavailable, "hook-busy", "Too many unverified calls are being read", detail: "retry in a second")
}
