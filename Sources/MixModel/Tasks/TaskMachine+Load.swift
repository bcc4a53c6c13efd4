/// The effects of the machine's load on a task.
extension TaskMachine {
    /// Refuses to start the task. The owner calls `roomChanged` when there is capacity. The timeline records a refusal
    /// once; `lastError` has the newest figures.
    mutating func refuse(_ waiting: Waiting, _ refusal: AdmissionRefusal, _ cause: Cause) -> [TaskAction] {
        let isNews = waiting.after != .noCapacity
        var waiting = waiting
        waiting.reason = .refused(refusal)
        // There are streams, so the task is not idle.
        waiting.idleDeadline = nil
        state = .waiting(waiting)
        guard isNews else { return [] }
        return [
            .record(
                TimelineEntry(
                    kind: .decision, message: "task does not start: \(refusal)", cause: cause.summary,
                    causes: cause.chain))
        ]
    }

    /// Keeps a bypass on an overloaded machine as long as its participant is present.
    ///
    /// - Parameter plan: Plan in force.
    /// - Returns: Whether a mix was requested but is not made.
    static func keepBypass(
        of plan: ProgramPlan?, in program: inout ProgramPlanner.Program, _ context: PlanningContext
    ) -> Bool {
        guard context.load.holdsBypass != nil, case .mix = program.mode, case .bypass(let source) = plan?.mode,
            !context.absent.contains(source), program.sources.contains(where: { $0.id == source && $0.video })
        else { return false }
        program.mode = .bypass(source)
        return true
    }
}
