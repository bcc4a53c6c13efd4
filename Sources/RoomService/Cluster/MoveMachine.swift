import TaskStore

/// Decides how a room moves to another node while its programs stay on air. Pure: the owner performs each action and reports
/// what came of it.
///
/// The receiver's relays are made ready first, and send nothing. The relays here stop before the lease is passed, and the
/// receiver's send only under the lease, so that at no step two relays may send. Until the lease is passed, everything that goes
/// wrong leaves the room here.
struct MoveMachine: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        /// The receiver makes its relays ready; those here send.
        case preparing
        /// The relays here go on to their next keyframe, and stop.
        case stopping
        /// No relay sends. The store has been asked to pass the lease.
        case passing
        /// No relay sends, and nobody knows who has the lease. The store has been asked to pass it to this node.
        case reclaiming(reason: String)
        case over(Outcome)
    }

    enum Outcome: Hashable, Sendable {
        case moved
        /// The room is still here, for this reason.
        case kept(String)
        /// The room is no longer this node's: another node has it, or takes it when the lease has run out.
        case lost
        /// The receiver knows no prepared moves.
        case unsupported
    }

    enum Event: Hashable, Sendable {
        /// The receiver's relays are ready to send.
        case prepared
        /// The receiver is not ready, in words.
        case refused(String)
        case unsupported
        /// All relays of the room have stopped, and the store knows where.
        case stopped
        /// Not all relays of the room have stopped, in words.
        case notStopped(String)
        /// The store's answer to the last question about the lease.
        case answered(PassOutcome)
        /// The store has not answered, in words.
        case unanswered(String)
    }

    enum Action: Hashable, Sendable {
        /// Has the receiver make relays ready.
        case prepare
        /// Holds back requests, and has the relays stop at their next keyframe.
        case stop
        case pass
        /// Passes the lease to this node under a new epoch, so that `pass` has no effect any more.
        case reclaim
        /// Has the relays send again, and lets requests in.
        case goOn
        /// Tells the receiver that it has the lease. A hint: it finds out by itself.
        case tell
        /// Has the receiver end what it has made ready. A hint: it does so by itself when the time is over.
        case cancel
        /// Ends the relays, which have stopped, and forgets the room.
        case end
    }

    private(set) var step = Step.preparing

    /// The first action.
    static let beginning = Action.prepare

    /// The outcome; `nil` while the move goes on.
    var outcome: Outcome? {
        if case .over(let outcome) = step { outcome } else { nil }
    }

    /// Takes what came of the last action.
    ///
    /// - Parameters:
    ///   - now: Time in ns of CLOCK_BOOTTIME.
    ///   - deadline: Time until which no other node can have taken the room, on the same clock.
    /// - Returns: The next actions. Only the last one is followed by an event, and only if the move goes on.
    mutating func take(_ event: Event, at now: Int64, deadline: Int64) -> [Action] {
        switch (step, event) {
        case (.preparing, .prepared):
            step = .stopping
            return [.stop]
        case (.preparing, .refused(let reason)):
            return finish(.kept(reason), [.cancel])
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
            // Perhaps it was passed.
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
