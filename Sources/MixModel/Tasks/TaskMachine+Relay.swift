/// Reports of the task's relay.
extension TaskMachine {
    /// Handles a relay that is connected and has reported its state.
    public mutating func relayConnected(_ status: RelayStatus, now: Int64) -> [TaskAction] {
        guard case .onAir(var onAir) = state else { return [] }
        var actions: [TaskAction] = []
        if onAir.stage != .running {
            let message = "relay \(status.processID) is connected, at plan \(status.revision)"
            actions.append(
                .record(TimelineEntry(kind: .relay, message: message, causes: onAir.launches.record.causes)))
        }
        onAir.stage = .running
        onAir.launches.connected(at: now)
        // A relay with a newer plan than the store (restored from a backup, for example) would ignore ours.
        if var program = onAir.program, status.revision > program.plan.revision {
            revision = Self.revision(after: status.revision)
            program.plan.revision = revision
            onAir.program = program
            actions.append(.apply(program.plan))
        }
        state = .onAir(onAir)
        return actions
    }

    /// Records the position of the program's stream, if a relay on another machine could not continue without it.
    public mutating func relayPlaced(_ place: ProgramPlace) {
        guard case .onAir(var onAir) = state, place.isNews(after: onAir.place) else { return }
        onAir.place = place
        state = .onAir(onAir)
    }

    /// The stored position of the stream of the program on air.
    public var place: ProgramPlace? {
        if case .onAir(let onAir) = state { onAir.place } else { nil }
    }

    /// Handles the loss of a relay: its process or its socket is gone, it could not be started, or it does not answer.
    ///
    /// - Parameter origin: Identifier of the cause of the consequences.
    public mutating func relayLost(_ reason: String, now: Int64, origin: CauseID? = nil) -> [TaskAction] {
        switch state {
        case .waiting, .held, .finished:
            return []
        case .ending(let ending):
            return ended(ending)
        case .onAir(var onAir):
            let (delay, isNews) = onAir.launches.lost(reason, at: now, origin: origin)
            if onAir.stage == .running { onAir.stage = .recovering }
            let (number, action) = deadline(.relaunch, at: now + delay)
            onAir.launches.deadline = number
            state = .onAir(onAir)
            guard isNews else { return [action] }
            let message = "relay lost: \(reason); restarting in \(delay / 1_000_000) ms"
            let causes = onAir.launches.record.causes
            return [.record(TimelineEntry(kind: .relay, message: message, causes: causes)), action]
        }
    }

    /// Handles a relay that ended as requested. The owner calls `roomChanged` afterwards, because participants may be
    /// on air again.
    public mutating func relayDrained() -> [TaskAction] {
        guard case .ending(let ending) = state else { return [] }
        return ended(ending)
    }
}
