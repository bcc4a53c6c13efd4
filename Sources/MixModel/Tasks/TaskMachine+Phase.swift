/// The state as shown to callers.
extension TaskMachine {
    /// The name of a task's state, with the reason for it.
    public enum Phase: Hashable, Codable, Sendable {
        /// No relay is wanted: the room has no stream or no outputs yet, or the task ended.
        case waiting(after: EndReason?)
        /// The task ended although participants are on air. It waits until the room is empty, or until this user
        /// publishes.
        case held(until: UserID?)
        /// The relay is being started for the first time.
        case starting
        case running
        /// The relay was lost and is being started again.
        case recovering
        /// The relay is being drained.
        case ending(EndReason)
        /// The explicit task or its room was deleted, or the task ended permanently by its policy. It never starts
        /// again.
        case finished(EndReason)
    }

    /// The name of the state.
    public var phase: Phase {
        switch state {
        case .waiting(let waiting): .waiting(after: waiting.after)
        case .held(let held): .held(until: held.until)
        case .onAir(let onAir):
            switch onAir.stage {
            case .starting: .starting
            case .running: .running
            case .recovering: .recovering
            }
        case .ending(let ending): .ending(ending.reason)
        case .finished(let finished): .finished(finished.reason)
        }
    }

    /// Whether the task currently has a relay process.
    public var isActive: Bool {
        switch state {
        case .waiting, .held, .finished: false
        case .onAir, .ending: true
        }
    }

    /// Whether the task waits without having been refused, so that only a room with outputs can change its state.
    public var isAtRest: Bool {
        if case .waiting(let waiting) = state { waiting.refusal == nil } else { false }
    }

    /// Whether the task would run if the machine could carry it.
    public var awaitsCapacity: Bool {
        if case .waiting(let waiting) = state { waiting.after == .noCapacity } else { false }
    }

    /// Plan in force; `nil` before the first one and after the end.
    public var plan: ProgramPlan? {
        if case .onAir(let onAir) = state { onAir.program?.plan } else { nil }
    }

    /// The host of the program so far; `nil` without a program. A program that ends keeps its host.
    public var host: UserID? {
        switch state {
        case .onAir(let onAir): onAir.program?.host
        case .ending(let ending): ending.host
        case .waiting, .held, .finished: nil
        }
    }

    /// The reason why the task does not start while it waits for capacity, or did not start if it has finished since.
    public var refusal: AdmissionRefusal? {
        switch state {
        case .waiting(let waiting): waiting.refusal
        case .finished(let finished): finished.refusal
        case .held, .onAir, .ending: nil
        }
    }

    /// Last failure of the relay, or refusal to start it, in words; `nil` once the relay is back or has ended.
    public var lastError: String? {
        switch state {
        case .onAir(let onAir): onAir.launches.lastError
        case .ending(let ending): ending.lastError
        case .waiting, .held, .finished:
            refusal.map { "\($0); the task starts automatically when enough cores are free" }
        }
    }

    /// Number of consecutive starts of the relay that failed or ended early. It is kept until a relay lasts, or the
    /// task starts anew.
    public var launchesFailed: Int { lastRelay.failures }

    /// Facts about the relay of the program on air, or of the last one.
    var lastRelay: RelayRecord {
        switch state {
        case .waiting(let waiting): waiting.lastRelay
        case .held(let held): held.lastRelay
        case .onAir(let onAir): onAir.launches.record
        case .ending(let ending): ending.lastRelay
        case .finished(let finished): finished.lastRelay
        }
    }
}

// MARK: - The final end

extension TaskMachine {
    /// Whether the task has ended permanently, including its relay.
    public var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Time at which the task was found to have ended permanently, in seconds since 1970. Set by the owner; `nil` for a
    /// task that has not ended permanently.
    public var finishedAt: Double? {
        get { if case .finished(let finished) = state { finished.at } else { nil } }
        set {
            guard case .finished(var finished) = state else { return }
            finished.at = newValue
            state = .finished(finished)
        }
    }

    /// Whether the task was ended by a request of the creator who attached data to it. The creator knows, and no other
    /// client asks for the task.
    public var isDisposable: Bool { attachment != nil && phase == .finished(.requested) }

    /// Whether the final end of the task is in progress or complete.
    public var isFinishing: Bool {
        switch state {
        case .ending(let ending): finishes(after: ending.reason)
        case .finished: true
        case .waiting, .held, .onAir: false
        }
    }
}
