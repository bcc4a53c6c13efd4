/// A kind of media server that calls `/v1/hooks/{name}` when streams begin and end.
///
/// A hook is a value without state. It verifies a request over its bytes, parses it into events of rooms, and produces
/// the answer that the server expects. The steps between parsing and answering (storing, limits, metrics) are the same
/// for all hooks. Add a hook with one file and one line in `EventHooks.all`.
package protocol EventHook: Sendable {
    /// Name in the path and in the configuration: lower-case letters, digits and `-`.
    var name: String { get }
    /// HTTP methods that servers of this kind use.
    var methods: Set<HookRequest.Method> { get }
    /// Whether `isAuthentic` needs the body. If false, the body of a caller without the secret is never read.
    var signsBody: Bool { get }
    /// Minimum length of a secret in the configuration, in bytes.
    var shortestSecret: Int { get }
    /// Returns the form that a secret must have in addition to its length, for operators; `nil` if this secret has it.
    func form(neededBy secret: String) -> String?
    /// Maximum length of a body, in bytes.
    var longestBody: Int { get }
    /// Whether events name rooms and participants, so that no pattern is needed, but contain no place from which to
    /// pull streams, so that streams are only created with the hook's own `url`.
    var namesParticipants: Bool { get }
    /// A request that begins a stream named `lobby__alice`, without a secret.
    var example: HookRequest { get }

    /// Returns whether the sender knows the secret.
    ///
    /// The standard implementation compares the request's token, see `HookRequest.token`.
    func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool

    /// Parses an authentic request. An event type that the hook does not know gives an outcome without events.
    ///
    /// - Parameter reader: Maps the names of the media server to those of rooms and participants.
    /// - Throws: `InputError` for a request that no server of this kind sends, or that concerns a refused URL.
    func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome

    /// Returns the answer that makes the server act on the verdict.
    ///
    /// - Parameter outcome: The parsed outcome, or `nil` if `outcome(of:reader:)` has thrown.
    func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer
}

extension EventHook {
    package var methods: Set<HookRequest.Method> { [.post] }
    package var signsBody: Bool { false }
    package var shortestSecret: Int { 16 }
    package func form(neededBy secret: String) -> String? { nil }
    package var longestBody: Int { HookRequest.longestBody }
    package var namesParticipants: Bool { false }

    package func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
        request.token.map { secret.matches($0) } ?? false
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: .noContent
        case .refused(let reason): HookAnswer(status: 403, text: reason)
        case .failed(let reason): HookAnswer(status: 503, text: reason)
        }
    }
}
