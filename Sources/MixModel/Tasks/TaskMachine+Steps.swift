/// The steps of which the machine's inputs are composed. Steps of one state take its payload, so that they cannot be
/// taken in another, and leave the state that follows.
extension TaskMachine {
    func wantsTask(_ room: Room, _ context: PlanningContext) -> Bool {
        if let schedule, schedule.isAhead(at: context.wallClock) { return false }
        let isFilled = schedule?.isOnAir(at: context.wallClock) ?? false
        return room.isOpen && (isFilled || context.hasStreams(for: room))
            && ProgramPlanner.hasDestination(room, in: context)
    }

    /// Returns the state of a held task that need not be held any longer.
    func released(_ held: Held, _ room: Room, _ context: PlanningContext) -> Waiting? {
        guard !context.hasStreams(for: room) || room.shownStreams.contains(where: { $0.user == held.until }) else {
            return nil
        }
        return Waiting(reason: .ended(held.until == nil ? .requested : .hostLeft), lastRelay: held.lastRelay)
    }

    // MARK: On air

    mutating func start(
        _ waiting: Waiting, _ room: Room, _ context: PlanningContext, _ cause: Cause
    ) -> [TaskAction] {
        let program = ProgramPlanner.program(for: room, context: context, lastHost: nil)
        if let refusal = context.admission?.refusal(of: program) { return refuse(waiting, refusal, cause) }
        let started = TimelineEntry(
            kind: .decision, message: "task starts", cause: cause.summary, causes: cause.chain)
        let onAir = OnAir(launches: RelayLaunches(RelayRecord(causes: cause.chain)))
        // The owner delivers the plan that follows as soon as the relay is connected.
        return [.record(started), .launchRelay] + replan(onAir, room, context, cause, held: [], cause.receivedAt)
    }

    /// Holds back a change until the end of the debounce window.
    mutating func hold(_ onAir: OnAir, _ cause: Cause, until time: Int64) -> [TaskAction] {
        var onAir = onAir
        var actions: [TaskAction] = []
        if !onAir.debounce.add(cause) {
            let (number, action) = deadline(.replan, at: time)
            onAir.debounce = .holding(until: time, causes: [cause], deadline: number)
            actions = [action]
        }
        state = .onAir(onAir)
        return actions
    }

    /// Plans the program for the current state of the room.
    ///
    /// - Parameter held: Causes of changes that were held back, oldest first.
    mutating func replan(
        _ onAir: OnAir, _ room: Room, _ context: PlanningContext, _ cause: Cause, held: [Cause], _ now: Int64
    ) -> [TaskAction] {
        var onAir = onAir
        let before = onAir.program
        var context = context
        context.canvasSoFar = before?.plan.scene.canvas
        var program = ProgramPlanner.program(for: room, context: context, lastHost: before?.host)
        if program.hostLeft { return end(onAir, .hostLeft, cause) }
        let isHeld = Self.keepBypass(of: before?.plan, in: &program, context)
        var degradation = context.load.degradation
        // A bypass renders no frames that could be left out.
        if case .bypass = program.mode { degradation = nil }
        sourceFacts = SourceFacts(
            absent: context.absent, pictureSizes: context.pictureSizes, frameRates: context.frameRates)
        var actions: [TaskAction] = []
        if let plan = before?.plan, !program.differs(from: plan), !context.differs(from: plan),
            plan.degradation?.level == degradation?.level
        {
            if before?.host != program.host { onAir.program?.host = program.host }
        } else {
            onAir.debounce = .quiet(until: now + Debounce.window)
            revision = Self.revision(after: revision)
            let causes = held + (held.contains(cause) ? [] : [cause])
            let plan = plan(program, context, causes, degradation)
            onAir.program = ProgramInForce(plan: plan, host: program.host)
            let note = isHeld ? context.load.holdsBypass.map { "; no participant is mixed in: \($0)" } : nil
            let change = context.change(of: program).map { "; \($0)" }
            let entry = TimelineEntry(
                kind: .decision, message: plan.summary + (note ?? "") + (change ?? ""), cause: plan.cause,
                causes: plan.causes)
            actions = [.apply(plan), .record(entry)]
        }
        let (deadline, idleness) = watchIdleness(onAir.idleDeadline, room, context, now)
        onAir.idleDeadline = deadline
        state = .onAir(onAir)
        return actions + idleness
    }

    /// Returns the revision after this one. The largest one has no successor: a stored or reported number must not end
    /// the process.
    static func revision(after last: Int) -> Int { last == .max ? last : last + 1 }

    /// Returns the program as a plan with the current revision.
    private func plan(
        _ program: ProgramPlanner.Program, _ context: PlanningContext, _ causes: [Cause], _ degradation: Degradation?
    ) -> ProgramPlan {
        ProgramPlan(
            revision: revision, task: id, room: room, sources: program.sources, mode: program.mode,
            scene: program.scene, outputs: program.outputs, sourceReach: context.sourceReach,
            outputReach: context.outputReach, causedAt: causes.map(\.receivedAt).min() ?? 0,
            cause: causes.map(\.summary).joined(separator: ", "), causes: causes.flatMap { $0.chain ?? [] },
            degradation: degradation, tracks: program.tracks == .all ? nil : program.tracks,
            encoding: program.encoding, sei: program.sei, isOfOne: program.isOfOne ? true : nil,
            idle: program.idle, quality: program.quality, redundancy: program.redundancy)
    }

    // MARK: The end

    mutating func end(_ onAir: OnAir, _ reason: EndReason, _ cause: Cause) -> [TaskAction] {
        var relay = onAir.launches.record
        relay.causes = cause.chain
        state = .ending(
            Ending(
                reason: reason, host: onAir.program?.host, lastError: onAir.launches.lastError, lastRelay: relay))
        let entry = TimelineEntry(
            kind: .decision, message: "task ends: \(reason.rawValue)", cause: cause.summary, causes: cause.chain)
        return [.record(entry), .drainRelay]
    }

    mutating func ended(_ ending: Ending) -> [TaskAction] {
        let (reason, relay) = (ending.reason, ending.lastRelay)
        state =
            switch reason {
            case _ where finishes(after: reason): .finished(Finished(reason: reason, lastRelay: relay))
            case .requested: .held(Held(until: nil, lastRelay: relay))
            case .hostLeft: .held(Held(until: ending.host, lastRelay: relay))
            case .idle, .roomClosed, .noOutputs, .roomDeleted, .noCapacity, .scheduled:
                .waiting(Waiting(reason: .ended(reason), lastRelay: relay))
            }
        let entry = TimelineEntry(
            kind: .relay, message: "relay ended", cause: reason.rawValue, causes: relay.causes)
        return [.record(entry)]
    }

    mutating func deadline(_ kind: DeadlineToken.Kind, at time: Int64) -> (Int, TaskAction) {
        deadlines &+= 1
        return (deadlines, .scheduleDeadline(DeadlineToken(kind: kind, number: deadlines), at: time))
    }
}

extension Cause {
    var chain: [CauseID]? { id.map { [$0] } }
}

extension ProgramPlanner.Program {
    func differs(from plan: ProgramPlan) -> Bool {
        plan.mode != mode || plan.scene != scene || plan.sources != sources || plan.outputs != outputs
            || (plan.tracks ?? .all) != tracks || plan.encoding != encoding || plan.sei != sei
            || (plan.isOfOne ?? false) != isOfOne || plan.idle != idle
            || plan.quality != quality || plan.redundancy != redundancy
    }
}

extension PlanningContext {
    /// Returns whether the plan was made with other limits on addresses.
    fileprivate func differs(from plan: ProgramPlan) -> Bool {
        plan.sourceReach != sourceReach || plan.outputReach != outputReach
    }
}
