import EventSubscription
import MixModel

/// A `ServiceState` as the API shows it. `error` is always present, and null if there is none.
struct ServiceView: Encodable {
    var state: ServiceState

    init(_ state: ServiceState) { self.state = state }

    private enum CodingKeys: CodingKey { case running, error }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state.running, forKey: .running)
        try container.encode(state.error, forKey: .error)
    }
}

extension ServiceStates {
    /// Creates the states of a room with these tasks.
    init(_ tasks: [OwnedTask]) {
        let outputs = tasks.flatMap { task in
            (task.machine.document.plan?.outputs ?? []).map { TaskView.Output($0, task.status) }
        }
        self.init(
            rtmp: ServiceState(
                running: outputs.contains { $0.state == .live },
                error: outputs.lazy.compactMap(Self.failure).first ?? tasks.lazy.compactMap(Self.failure).first),
            recording: ServiceState(
                tasks.lazy.compactMap { $0.machine.document.plan?.recordings?.first?.settings }.first,
                tasks.flatMap { $0.status?.recordings ?? [] }),
            hls: tasks.lazy.compactMap { $0.status?.hls?.service }.first ?? ServiceState())
    }

    private static func failure(of output: TaskView.Output) -> ServiceState.Failure? {
        guard output.state != .live, let error = output.lastError else { return nil }
        return ServiceState.Failure(
            code: output.lastErrorCode?.rawValue ?? "output_\(output.state.rawValue)",
            message: "output \(output.id): \(error)")
    }

    /// Returns the failure of the task itself, which its destinations do not show.
    private static func failure(of task: OwnedTask) -> ServiceState.Failure? {
        let machine = task.machine.document
        guard machine.revision > 0 || machine.isExplicit || machine.awaitsCapacity,
            let error = machine.lastError ?? task.status?.mixerError.map(Redaction.text)
        else { return nil }
        return ServiceState.Failure(code: "task_\(TaskView.state(of: machine).0.rawValue)", message: error)
    }
}
