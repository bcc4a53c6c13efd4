/// What the load of the machine does to a task.
extension TaskMachine {
    /// Whether the task would run if the machine could carry it.
    public var awaitsCapacity: Bool { phase == .waiting(after: .noCapacity) }

    /// The owner calls `roomChanged` when there is room. A refusal is told once; `lastError` has its newest figures.
    mutating func refuse(_ refusal: AdmissionRefusal, _ cause: Cause) -> [TaskAction] {
        self.refusal = refusal
        lastError = "\(refusal); the task starts by itself when there is room"
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

    /// On a machine that carries too much a bypass stays as long as its person is there.
    ///
    /// - Returns: Whether a mix was asked for and is not made.
    func keepBypass(_ program: inout ProgramPlanner.Program, _ context: PlanningContext) -> Bool {
        guard context.load.holdsBypass != nil, case .mix = program.mode, case .bypass(let source) = plan?.mode,
            !context.absent.contains(source), program.sources.contains(where: { $0.id == source && $0.video })
        else { return false }
        program.mode = .bypass(source)
        return true
    }
}
