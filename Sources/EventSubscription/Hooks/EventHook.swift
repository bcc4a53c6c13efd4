/// One kind of media server that calls `/v1/hooks/{name}` when streams begin and end.
///
/// A hook is a value without state. It verifies a request over its bytes, reads it into events of rooms, and writes the
/// answer that the server expects. What happens between reading and answering (storing, limits, metrics) is the same for
/// all hooks. Add a hook with one file and one line in `EventHooks.all`.
package protocol EventHook: Sendable {
    /// Name in the path and in the configuration: lower-case letters, digits and `-`.
    var name: String { get }
    /// Methods that servers of this kind call with.
    var methods: Set<HookRequest.Method> { get }
    /// Whether `isAuthentic` needs the body. If false, the body of a caller without the secret is never read.
    var signsBody: Bool { get }
    /// Length of the shortest secret that the configuration may contain, in bytes.
    var shortestSecret: Int { get }
    /// Form that a secret must have beyond its length, for operators; `nil` if this one has it.
    func form(neededBy secret: String) -> String?
    /// Longest body that is read, in bytes.
    var longestBody: Int { get }
    /// Whether events name rooms and participants, so that no pattern is needed, and give no place to pull streams from, so
    /// that only the hook's own `url` makes streams of them.
    var namesParticipants: Bool { get }
    /// A request that begins a stream whose name is `lobby__alice`, without a secret.
    var example: HookRequest { get }

    /// Whether the sender knows the secret.
    ///
    /// The standard implementation compares the request's token, see `HookRequest.token`.
    func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool

    /// Reads an authentic request. A type of event that the hook does not know is an outcome without events.
    ///
    /// - Parameter reader: Turns the names of the media server into those of rooms and participants.
    /// - Throws: `InputError` for a request that no server of this kind sends, or that concerns a refused URL.
    func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome

    /// Returns the answer by which the server does what the verdict says.
    ///
    /// - Parameter outcome: What was read, or `nil` if `outcome(of:reader:)` has thrown.
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
