import LayoutEngine

/// Facts of the program that its layout shows, such as the number of viewers.
extension TaskMachine {
    /// Has the mix on air show the values as they are now.
    ///
    /// The plan keeps its cause, because values are no event, and nothing is recorded. A program that has to change in
    /// other ways, too, is left to the decision about these.
    ///
    /// - Returns: Nothing if the picture stays the same.
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

    /// Whether a mix is on air, or on its way there, that the layout composes.
    public func showsLayout(in room: Room) -> Bool {
        guard case .onAir(let onAir) = state, case .mix? = onAir.program?.plan.mode else { return false }
        return (settings ?? room.settings).program?.composition ?? .automatic == .automatic
    }
}

extension ProgramPlanner.Program {
    /// Whether the program is that of the plan with other overlays.
    fileprivate func onlyChangesOverlays(of plan: ProgramPlan) -> Bool {
        guard scene.overlays != plan.scene.overlays else { return false }
        var program = self
        program.scene.overlays = plan.scene.overlays
        return !program.differs(from: plan)
    }
}
