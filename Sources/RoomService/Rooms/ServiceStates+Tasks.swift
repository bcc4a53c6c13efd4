import EventSubscription
import MixModel

extension ServiceStates {
    /// Creates the states of a room with these tasks.
    package init(_ tasks: [OwnedTask]) {
        let outputs = tasks.flatMap { task in
            (task.machine.document.plan?.outputs ?? []).map { ServedOutput($0, task.status) }
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

    private static func failure(of output: ServedOutput) -> ServiceState.Failure? {
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
        return ServiceState.Failure(code: "task_\(machine.reportedState.state.rawValue)", message: error)
    }
}

/// A destination of a task and what the relay says of it.
private struct ServedOutput {
    var id: OutputID
    var state: OutputStatus.State
    var lastError: String?
    var lastErrorCode: OutputErrorCode?

    init(_ output: PlannedOutput, _ status: RelayStatus?) {
        let actual = status?.outputs.first { $0.id == output.id }
        id = output.id
        state = actual?.state ?? .connecting
        lastError = actual?.lastError.map(Redaction.text)
        lastErrorCode = actual?.lastErrorCode
    }
}

extension ServiceState {
    /// Creates the state that apps see of a recording: the program's, with a participant's error when the program has
    /// none.
    package init(_ settings: RecordingSettings?, _ statuses: [RecordingStatus]) {
        let mine = statuses.filter { $0.id == settings?.id }
        let program = mine.first { $0.source == nil }
        self.init(
            running: program?.service.running ?? false,
            error: (program?.error ?? mine.lazy.compactMap(\.error).first)?.redacted)
    }
}

extension ServiceState.Failure {
    /// The failure without secrets.
    package var redacted: Self { Self(code: code, message: Redaction.text(message)) }
}
