import LayoutEngine

/// Values that the program's layout shows, such as the number of viewers.
extension TaskMachine {
    /// Makes the mix on air show the current values.
    ///
    /// The plan keeps its cause, because a change of values is not an event, and nothing is recorded. A program that
    /// must also change in other ways is left to the decision about those changes.
    ///
    /// - Returns: No actions if the picture stays the same.
    public mutating func valuesChanged(_ room: Room, context: PlanningContext) -> [TaskAction] {
        guard case .onAir(var onAir) = state, let inForce = onAir.program, case .mix = inForce.plan.mode else {
            return []
        }
        var context = context
        context.canvasSoFar = inForce.plan.scene.canvas
        let program = ProgramPlanner.program(for: seen(room), context: context, lastHost: inForce.host)
        guard program.onlyChangesOverlays(of: inForce.plan) else { return [] }
        revision = Self.revision(after: revision)
        var plan = inForce.plan
        (plan.revision, plan.scene) = (revision, program.scene)
        onAir.program = ProgramInForce(plan: plan, host: inForce.host)
        state = .onAir(onAir)
        return [.apply(plan)]
    }

    /// Returns whether a mix composed by the layout is on air, or about to be.
    public func showsLayout(in room: Room) -> Bool {
        guard case .onAir(let onAir) = state, case .mix? = onAir.program?.plan.mode else { return false }
        return (settings ?? room.settings).program?.composition ?? .automatic == .automatic
    }
}

extension ProgramPlanner.Program {
    /// Returns whether the program differs from the plan's only in its overlays.
    fileprivate func onlyChangesOverlays(of plan: ProgramPlan) -> Bool {
        guard scene.overlays != plan.scene.overlays else { return false }
        var program = self
        program.scene.overlays = plan.scene.overlays
        return !program.differs(from: plan)
    }
}
