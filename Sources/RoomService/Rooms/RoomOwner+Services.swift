import EncodedMedia
import MixModel

/// The services of a room as apps see them, and requests to them.
extension RoomOwner {
    /// Whether the room has an audience: subscribers, or listeners of its feed.
    var isHeard: Bool { services.subscriptions.tells(of: id.app) || services.feeds.hasListeners(id) }

    /// Whether a kind of output has changed its state in a way that is reported.
    var hasServiceNews: Bool { serviceWatch.tells(of: ServiceStates(tasks), now: MonotonicClock.now()) }

    func takeServiceChange() -> [Occurrence.Kind] {
        let change = serviceWatch.take(ServiceStates(tasks), now: MonotonicClock.now())
        return change.map { [.roomServicesChanged($0)] } ?? []
    }

    /// Makes a destination that waits for its next attempt, or was given up, try at once. Nothing is stored: a relay
    /// that starts meanwhile tries by itself.
    package func retry(_ output: OutputID, of task: TaskID) {
        tasks.first { $0.id == task }?.supervisor?.perform([.retryOutput(output)])
    }

    /// Makes all destinations of the task that were given up try at once.
    package func retryFailedOutputs(of task: TaskID) {
        guard let task = tasks.first(where: { $0.id == task }) else { return }
        let failed = (task.status?.outputs ?? []).destinations.filter { $0.state == .failed }.map(\.id)
        task.supervisor?.perform(failed.map { .retryOutput($0) })
    }
}
