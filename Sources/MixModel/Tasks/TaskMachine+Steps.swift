/// The steps that the machine's inputs are composed of.
extension TaskMachine {
    var isOnAir: Bool {
        switch phase {
        case .starting, .running, .recovering: true
        case .waiting, .held, .ending, .finished: false
        }
    }

    func wantsTask(_ room: Room, _ context: PlanningContext) -> Bool {
        room.isOpen && context.hasStreams(for: room) && ProgramPlanner.hasDestination(room, in: context)
    }

    mutating func start(_ room: Room, _ context: PlanningContext, _ cause: Cause) -> [TaskAction] {
        let program = ProgramPlanner.program(for: room, context: context, lastHost: nil)
        if let refusal = context.admission?.refusal(of: program) { return refuse(refusal, cause) }
        phase = .starting
        host = nil
        failedLaunches = 0
        lastError = nil
        refusal = nil
        relayCauses = cause.chain
        let started = TimelineEntry(
            kind: .decision, message: "task starts", cause: cause.summary, causes: cause.chain)
        // The owner hands over the plan that follows as soon as the relay is there.
        return [.record(started), .launchRelay] + replan(room, context, cause, cause.receivedAt)
    }

    /// Connects to (or starts) the relay and gives it the plan in force.
    func launch() -> [TaskAction] {
        [.launchRelay] + (plan.map { [.apply($0)] } ?? [])
    }

    mutating func hold(_ cause: Cause, until time: Int64) -> [TaskAction] {
        // The oldest causes and the newest are enough; the list must not grow with a flapping stream.
        if pending.count >= 8 { pending.removeLast() }
        pending.append(cause)
        guard replanDeadline == nil else { return [] }
        let (number, action) = deadline(.replan, at: time)
        replanDeadline = number
        return [action]
    }

    mutating func replan(
        _ room: Room, _ context: PlanningContext, _ cause: Cause, _ now: Int64
    ) -> [TaskAction] {
        let causes = pending + (pending.contains(cause) ? [] : [cause])
        pending = []
        replanDeadline = nil
        var program = ProgramPlanner.program(for: room, context: context, lastHost: host)
        if program.hostLeft { return end(.hostLeft, cause) }
        let isHeld = keepBypass(&program, context)
        var degradation = context.load.degradation
        // A bypass renders no frames that could be left out.
        if case .bypass = program.mode { degradation = nil }
        host = program.host
        sourceFacts = SourceFacts(absent: context.absent, pictureSizes: context.pictureSizes)
        var actions: [TaskAction] = []
        let isNew =
            plan.map {
                program.differs(from: $0) || context.differs(from: $0) || $0.degradation?.level != degradation?.level
            } ?? true
        if isNew {
            quietUntil = now + Self.debounceWindow
            revision += 1
            let summary = causes.map(\.summary).joined(separator: ", ")
            let chain = causes.flatMap { $0.chain ?? [] }
            let plan = ProgramPlan(
                revision: revision, task: id, room: self.room, sources: program.sources, mode: program.mode,
                scene: program.scene, outputs: program.outputs, sourceReach: context.sourceReach,
                outputReach: context.outputReach, causedAt: causes.map(\.receivedAt).min() ?? cause.receivedAt,
                cause: summary, causes: chain, degradation: degradation,
                tracks: program.tracks == .all ? nil : program.tracks, encoding: program.encoding, sei: program.sei,
                isOfOne: program.isOfOne ? true : nil)
            self.plan = plan
            let held = isHeld ? context.load.holdsBypass.map { "; no participant is mixed in: \($0)" } : nil
            let entry = TimelineEntry(
                kind: .decision, message: plan.summary + (held ?? ""), cause: summary, causes: chain)
            actions += [.apply(plan), .record(entry)]
        }
        return actions + watchIdleness(room, context, now)
    }

    mutating func watchIdleness(_ room: Room, _ context: PlanningContext, _ now: Int64) -> [TaskAction] {
        guard isIdle(room, context) else {
            idleDeadline = nil
            return []
        }
        guard idleDeadline == nil else { return [] }
        let (number, action) = deadline(.idle, at: now + Int64(idleSeconds(room)) * 1_000_000_000)
        idleDeadline = number
        return [action]
    }

    mutating func end(_ reason: EndReason, _ cause: Cause) -> [TaskAction] {
        phase = .ending(reason)
        relayCauses = cause.chain
        plan = nil
        pending = []
        quietUntil = nil
        replanDeadline = nil
        idleDeadline = nil
        relaunchDeadline = nil
        let entry = TimelineEntry(
            kind: .decision, message: "task ends: \(reason.rawValue)", cause: cause.summary, causes: cause.chain)
        return [.record(entry), .drainRelay]
    }

    mutating func ended(_ reason: EndReason) -> [TaskAction] {
        switch reason {
        case .roomDeleted: phase = .finished(reason)
        case .requested: phase = settings == nil ? .held(until: nil) : .finished(reason)
        case .hostLeft: phase = .held(until: host)
        case .idle where finishesWhenIdle, .roomClosed where finishesWithRoom: phase = .finished(reason)
        case .idle, .roomClosed, .noOutputs, .noCapacity: phase = .waiting(after: reason)
        }
        host = nil
        lastError = nil
        let entry = TimelineEntry(
            kind: .relay, message: "relay ended", cause: reason.rawValue, causes: relayCauses)
        return [.record(entry)]
    }

    mutating func deadline(_ kind: DeadlineToken.Kind, at time: Int64) -> (Int, TaskAction) {
        deadlines += 1
        return (deadlines, .scheduleDeadline(DeadlineToken(kind: kind, number: deadlines), at: time))
    }
}

extension Cause {
    var chain: [CauseID]? { id.map { [$0] } }
}

extension ProgramPlanner.Program {
    fileprivate func differs(from plan: ProgramPlan) -> Bool {
        plan.mode != mode || plan.scene != scene || plan.sources != sources || plan.outputs != outputs
            || (plan.tracks ?? .all) != tracks || plan.encoding != encoding || plan.sei != sei
            || (plan.isOfOne ?? false) != isOfOne
    }
}

extension PlanningContext {
    /// Whether the plan was made with other limits on addresses.
    fileprivate func differs(from plan: ProgramPlan) -> Bool {
        plan.sourceReach != sourceReach || plan.outputReach != outputReach
    }
}
