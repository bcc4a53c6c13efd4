/// The effects of the machine's load on a task.
extension TaskMachine {
    /// Whether the task would run if the machine could carry it.
    public var awaitsCapacity: Bool { phase == .waiting(after: .noCapacity) }

    /// Refuses to start the task. The owner calls `roomChanged` when there is room. The timeline records a refusal
    /// once; `lastError` has the newest figures.
    mutating func refuse(_ refusal: AdmissionRefusal, _ cause: Cause) -> [TaskAction] {
        self.refusal = refusal
        lastError = "\(refusal); the task starts automatically when enough cores are free"
        guard !awaitsCapacity else { return [] }
        phase = .waiting(after: .noCapacity)
        return [
            .record(
                TimelineEntry(
                    kind: .decision, message: "task does not start: \(refusal)", cause: cause.summary,
                    causes: cause.chain))
        ]
    }

    mutating func forgetRefusal() {
        guard awaitsCapacity else { return }
        phase = .waiting(after: nil)
        lastError = nil
        refusal = nil
    }

    /// Keeps a bypass on an overloaded machine as long as its participant is there.
    ///
    /// - Returns: Whether a mix was requested and is not made.
    func keepBypass(_ program: inout ProgramPlanner.Program, _ context: PlanningContext) -> Bool {
        guard context.load.holdsBypass != nil, case .mix = program.mode, case .bypass(let source) = plan?.mode,
            !context.absent.contains(source), program.sources.contains(where: { $0.id == source && $0.video })
        else { return false }
        program.mode = .bypass(source)
        return true
    }
}
