import EventSubscription
import MixModel

extension ServiceStates {
    /// Creates the service states of a room with these tasks: a kind is running if it runs in one of the tasks; its
    /// error is the first one found.
    package init(_ tasks: [OwnedTask]) {
        self.init()
        func take<Kind: OutputDocument>(_ kind: Kind.Type) {
            for task in tasks {
                let state = kind.service(
                    of: (task.machine.document.plan?.outputs ?? []).of(kind),
                    (task.status?.outputs ?? []).of(Kind.Status.self))
                self[kind.kind].running = self[kind.kind].running || state.running
                self[kind.kind].error = self[kind.kind].error ?? state.error?.redacted
            }
        }
        for kind in OutputDocuments.all { take(kind) }
        for task in tasks { takeStreams(of: task.requestedRecordings) }
        // The failure of a task itself has no output to which it belongs.
        let streaming = self[PushDestination.kind]
        self[PushDestination.kind].error = streaming.error ?? tasks.lazy.compactMap(Self.failure).first
    }

    private static func failure(of task: OwnedTask) -> ServiceState.Failure? {
        let machine = task.machine.document
        guard machine.revision > 0 || machine.isExplicit || machine.awaitsCapacity,
            let error = machine.lastError ?? task.status?.mixerError.map(Redaction.text)
        else { return nil }
        return ServiceState.Failure(code: "task_\(machine.reportedState.state.rawValue)", message: error)
    }
}

extension OwnedTask {
    /// The relay's reports on recordings that the plan requests, without secrets.
    fileprivate var requestedRecordings: [RecordingStatus] {
        let planned = (machine.document.plan?.outputs ?? []).recordings.map(\.id)
        return (status?.outputs ?? []).recordings.filter { planned.contains($0.id) }.map { status in
            var status = status
            status.error = status.error?.redacted
            return status
        }
    }
}

extension ServiceState.Failure {
    /// The failure without secrets.
    package var redacted: Self { Self(code: code, message: Redaction.text(message)) }
}
