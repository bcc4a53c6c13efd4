/// The meaning of a media server's call.
package struct HookOutcome: Hashable, Sendable {
    /// The server's word for the call, such as `publish`.
    package var call: String
    package var weight: Weight
    /// Events to store, in order.
    package var events: [HookEvent]
    /// The reason why the stream's name belongs to no room; `nil` if it does, or if the call has no name. Does not
    /// contain the name, which may be a secret.
    package var unmatched: String?
    /// The reason why the stream cannot be pulled, although its name belongs to a room, or why the call is refused
    /// under another rule of the hook; `nil` if there is none. `events` are stored nevertheless.
    package var refusal: InputError?

    /// The effect of an answer on the publisher.
    package enum Weight: Hashable, Sendable {
        /// The server asks whether a publisher may start, and drops it if the answer is no.
        case decisive
        /// The server reports an event. It ignores the answer, or repeats the call after an error.
        case informative
        /// The server reports on a stream on air, and would drop it after any answer other than success.
        case fragile
    }

    package init(
        call: String, weight: Weight, events: [HookEvent] = [], unmatched: String? = nil,
        refusal: InputError? = nil
    ) {
        self.call = call
        self.weight = weight
        self.events = events
        self.unmatched = unmatched
        self.refusal = refusal
    }

    /// Returns the outcome of a call that concerns no room.
    package static func ignored(_ call: String) -> HookOutcome { HookOutcome(call: call, weight: .informative) }
}
