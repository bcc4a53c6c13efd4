extension TaskMachine {
    /// The state of a task between two events, with its associated data.
    enum State: Hashable, Sendable {
        /// No relay is wanted.
        case waiting(Waiting)
        /// The task ended although participants are on air.
        case held(Held)
        /// A program is on air, or about to be.
        case onAir(OnAir)
        /// The relay is being drained.
        case ending(Ending)
        /// The task has ended permanently. It never starts again.
        case finished(Finished)
    }

    /// A task that waits for a stream, an output or capacity.
    struct Waiting: Hashable, Sendable {
        /// The reason why no program is on air.
        enum Reason: Hashable, Sendable {
            /// The last program ended for this reason; `nil` if there was none, or if that no longer matters.
            /// `noCapacity` stands for a refusal whose figures are missing in a stored document.
            case ended(EndReason?)
            /// The machine cannot carry the program.
            case refused(AdmissionRefusal)
        }
        var reason = Reason.ended(nil)
        /// Number of the deadline at which an idle task finishes; `nil` if none is awaited.
        var idleDeadline: Int?
        /// Facts about the relay of the last program, here and in the states below.
        var lastRelay = RelayRecord()

        /// The reason as shown to callers.
        var after: EndReason? {
            switch reason {
            case .ended(let reason): reason
            case .refused: .noCapacity
            }
        }
        var refusal: AdmissionRefusal? {
            if case .refused(let refusal) = reason { refusal } else { nil }
        }
    }

    /// A task that waits until the room is empty, or until the host publishes.
    struct Held: Hashable, Sendable {
        /// User whose stream lets the task start again; `nil` means that only an empty room does.
        var until: UserID?
        var lastRelay = RelayRecord()
    }

    /// A task whose relay has yet to end.
    struct Ending: Hashable, Sendable {
        var reason: EndReason
        /// Host of the program that ends.
        var host: UserID?
        /// Last failure of the relay, shown until the relay has ended.
        var lastError: String?
        var lastRelay = RelayRecord()
    }

    /// A task that has ended permanently.
    struct Finished: Hashable, Sendable {
        var reason: EndReason
        /// Time at which the task was found to have ended, in seconds since 1970; `nil` until the owner sets it.
        var at: Double?
        /// Reason why the task never started, if it waited for capacity at its end.
        var refusal: AdmissionRefusal?
        var lastRelay = RelayRecord()
    }
}

extension TaskMachine.State {
    /// Adapts the state to a new process of the orchestrator, in which no deadline of the previous one comes due.
    ///
    /// - Parameter origin: Identifier of the cause of the consequences.
    mutating func restart(origin: CauseID?) {
        switch self {
        case .waiting(var waiting):
            waiting.idleDeadline = nil
            waiting.lastRelay.restart()
            self = .waiting(waiting)
        case .held(var held):
            held.lastRelay.restart()
            self = .held(held)
        case .onAir(var onAir):
            onAir.restart(origin: origin)
            self = .onAir(onAir)
        case .ending(var ending):
            ending.lastRelay.restart()
            self = .ending(ending)
        case .finished(var finished):
            finished.lastRelay.restart()
            self = .finished(finished)
        }
    }
}
