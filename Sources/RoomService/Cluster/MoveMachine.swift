import TaskStore

/// Decides how a room moves to another node while its programs stay on air. Pure: the owner performs each action and
/// reports its result.
///
/// The receiver's relays are prepared first, and send nothing. The relays here stop before the lease is passed, and the
/// receiver's relays send only under the lease, so that two relays may never send at the same time. Until the lease is
/// passed, any failure leaves the room here.
struct MoveMachine: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        /// The receiver prepares its relays; the relays here send.
        case preparing
        /// The relays here continue until their next keyframe, then stop.
        case stopping
        /// No relay sends. The store has been asked to pass the lease.
        case passing
        /// No relay sends, and it is unknown which node has the lease. The store has been asked to pass it to this
        /// node.
        case reclaiming(reason: String)
        case over(Outcome)
    }

    enum Outcome: Hashable, Sendable {
        case moved
        /// The room is still here, for this reason.
        case kept(String)
        /// The receiver has not accepted the room, for this reason. The programs here have noticed nothing.
        case refused(String)
        /// The room no longer belongs to this node: another node has it, or will take it when the lease expires.
        case lost
        /// The receiver does not support prepared moves.
        case unsupported
    }

    enum Event: Hashable, Sendable {
        /// The receiver's relays are ready to send.
        case prepared
        /// The receiver is not ready, with the reason.
        case refused(String)
        case unsupported
        /// All relays of the room have stopped, and the store has their positions.
        case stopped
        /// Not all relays of the room have stopped, with the reason.
        case notStopped(String)
        /// The store's answer to the last question about the lease.
        case answered(PassOutcome)
        /// The store has not answered, with the reason.
        case unanswered(String)
    }

    enum Action: Hashable, Sendable {
        /// Makes the receiver prepare its relays.
        case prepare
        /// Holds requests back, and stops the relays at their next keyframe.
        case stop
        case pass
        /// Passes the lease to this node under a new epoch, so that `pass` can no longer take effect.
        case reclaim
        /// Lets the relays send again, and admits requests.
        case goOn
        /// Tells the receiver that it has the lease. Only a hint: the receiver finds out by itself.
        case tell
        /// Makes the receiver end what it has prepared. Only a hint: the receiver does so by itself after its deadline.
        case cancel
        /// Ends the relays, which have stopped, and drops the room from memory.
        case end
    }

    private(set) var step = Step.preparing

    /// The first action.
    static let beginning = Action.prepare

    /// The outcome; `nil` while the move goes on.
    var outcome: Outcome? {
        if case .over(let outcome) = step { outcome } else { nil }
    }

    /// Takes the result of the last action.
    ///
    /// - Parameters:
    ///   - now: Time in ns of CLOCK_BOOTTIME.
    ///   - deadline: Time before which no other node can have taken the room, on the same clock.
    /// - Returns: The next actions. Only the last one is followed by an event, and only if the move goes on.
    mutating func take(_ event: Event, at now: Int64, deadline: Int64) -> [Action] {
        switch (step, event) {
        case (.preparing, .prepared):
            step = .stopping
            return [.stop]
        case (.preparing, .refused(let reason)):
            return finish(.refused(reason), [.cancel])
        case (.preparing, .unsupported):
            return finish(.unsupported, [])
        case (.stopping, .stopped):
            step = .passing
            return [.pass]
        case (.stopping, .notStopped(let reason)):
            return finish(.kept(reason), [.goOn, .cancel])
        case (.passing, .answered(.passed)):
            return finish(.moved, [.tell, .end])
        case (.passing, .answered(.receiverGone)):
            return finish(.kept("the other node's leases have run out"), [.goOn, .cancel])
        case (.passing, .unanswered(let reason)):
            step = .reclaiming(reason: reason)
            return [.reclaim]
        case (.reclaiming(let reason), .answered(.passed)):
            return finish(.kept(reason), [.goOn, .cancel])
        case (.passing, .answered(.notHeld)), (.reclaiming, .answered):
            // The lease may have been passed.
            return finish(.lost, [.tell, .end])
        case (.reclaiming, .unanswered):
            return now < deadline ? [.reclaim] : finish(.lost, [.tell, .end])
        default:
            return []
        }
    }

    private mutating func finish(_ outcome: Outcome, _ actions: [Action]) -> [Action] {
        step = .over(outcome)
        return actions
    }
}
