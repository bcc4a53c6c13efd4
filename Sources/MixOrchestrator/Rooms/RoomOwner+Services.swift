import MixModel

/// What the room sends out, as apps see it, and what they may ask of it.
extension RoomOwner {
    /// Whether somebody is told what happens in the room: subscribers or listeners of its feed.
    var isHeard: Bool { services.subscriptions.tells(of: id.app) || services.feeds.hasListeners(id) }

    /// Whether streaming, recording or HLS changed in a way that is to be told.
    var hasServiceNews: Bool { serviceWatch.tells(of: ServiceStates(tasks), now: MonotonicClock.now()) }

    func takeServiceChange() -> [Occurrence.Kind] {
        let change = serviceWatch.take(ServiceStates(tasks), now: MonotonicClock.now())
        return change.map { [.roomServicesChanged($0)] } ?? []
    }

    /// Has an attempt made at once where the destination waits for one or was given up. Nothing is stored: a relay that
    /// is started meanwhile tries by itself.
    func retry(_ output: OutputID, of task: TaskID) {
        tasks.first { $0.id == task }?.owner?.perform([.retryOutput(output)])
    }

    /// The same for all destinations of the task that were given up.
    func retryFailedOutputs(of task: TaskID) {
        guard let task = tasks.first(where: { $0.id == task }) else { return }
        let failed = (task.status?.outputs ?? []).filter { $0.state == .failed }.map(\.id)
        task.owner?.perform(failed.map { .retryOutput($0) })
    }
}
