import EncodedMedia
import MixModel
import Synchronization

/// Measures the work of a room's owner. Thread-safe; does not hold the room's name.
final class RoomMeter: Sendable {
    private let metrics: Metrics
    /// Newest revision sent to each task's relay. A plan that is sent again, to a restarted or adopted relay, is not
    /// measured.
    private let lastSent = Mutex<[TaskID: (revision: Int, causedAt: Int64)]>([:])

    init(_ metrics: Metrics) { self.metrics = metrics }

    /// - Parameters:
    ///   - start: Time at which the change was given to the store, in ns of CLOCK_MONOTONIC.
    ///   - succeeded: Whether the change is stored; also true for a duplicate.
    func stored(since start: Int64, succeeded: Bool) {
        metrics.observe(.storeCommit, nanoseconds: MonotonicClock.now() - start)
        if !succeeded { metrics.count(.storeFailures) }
    }

    func eventStored(receivedAt: Int64) {
        metrics.observe(.eventDurable, nanoseconds: MonotonicClock.now() - receivedAt)
    }

    /// Measures a plan that has been sent to the task's relay.
    func sent(_ plan: ProgramPlan, of task: TaskID) {
        let isNews = lastSent.withLock { lastSent in
            let last = lastSent[task]
            guard plan.revision > last?.revision ?? 0 else { return false }
            lastSent[task] = (plan.revision, plan.causedAt)
            // A new picture that only shows other values keeps its cause.
            return plan.causedAt != last?.causedAt
        }
        guard isNews, plan.causedAt >= metrics.startedAt else { return }
        metrics.observe(.relayTold, nanoseconds: MonotonicClock.now().saturatingDifference(plan.causedAt))
    }

    func switched(_ record: SwitchRecord) {
        metrics.count(.switches, record.from?.rawValue ?? "nothing", record.to.rawValue)
        metrics.observe(.switchLatency, nanoseconds: Int64(saturating: record.latencyMs * 1e6), record.to.rawValue)
    }

    func relayLost() { metrics.count(.relayLosses) }

    /// - Parameter old: Previous status of the same relay; `nil` if this is its first. The counts of an adopted relay
    ///   from before its adoption are not counted again.
    func status(_ new: RelayStatus, after old: RelayStatus?) {
        guard let old, old.processID == new.processID else { return }
        let before = Dictionary(old.outputs.destinations.map { ($0.id, $0) }) { $1 }
        for output in new.outputs.destinations {
            let last = before[output.id]
            metrics.count(.outputBytes, by: max(output.bytesSent - (last?.bytesSent ?? 0), 0))
            metrics.count(.outputReconnects, by: Int64(max(output.reconnects - (last?.reconnects ?? 0), 0)))
        }
        let recorded = old.outputs.recordings
        for recording in new.outputs.recordings {
            let last = recorded.first { $0.id == recording.id && $0.source == recording.source }
            let isNews = recording.error != last?.error || recording.restarts > last?.restarts ?? 0
            if isNews, let error = recording.error { metrics.count(.recordingFailures, error.code) }
        }
    }
}

/// Totals of the newest statuses of all relays.
package struct RelayFigures {
    package var relays = 0
    package var failingMixers = 0
    package var programs: [String: Int] = ["bypass": 0, "mix": 0, "slate": 0]
    package var outputs: [String: Int] = ["connecting": 0, "live": 0, "recovering": 0, "failed": 0]
    package var recordings: [String: Int] = ["starting": 0, "recording": 0, "recovering": 0, "ended": 0, "failed": 0]
    package var sources: [String: Int] = ["connecting": 0, "live": 0, "stalled": 0, "recovering": 0, "failed": 0]

    package init(
        relays: Int = 0, failingMixers: Int = 0, programs: [String: Int] = ["bypass": 0, "mix": 0, "slate": 0],
        outputs: [String: Int] = ["connecting": 0, "live": 0, "recovering": 0, "failed": 0],
        recordings: [String: Int] = ["starting": 0, "recording": 0, "recovering": 0, "ended": 0, "failed": 0],
        sources: [String: Int] = ["connecting": 0, "live": 0, "stalled": 0, "recovering": 0, "failed": 0]
    ) {
        self.relays = relays
        self.failingMixers = failingMixers
        self.programs = programs
        self.outputs = outputs
        self.recordings = recordings
        self.sources = sources
    }

    package mutating func add(_ status: RelayStatus) {
        relays += 1
        if status.mixerError != nil { failingMixers += 1 }
        if let onAir = status.onAir { programs[onAir.rawValue, default: 0] += 1 }
        for output in status.outputs.destinations { outputs[output.state.rawValue, default: 0] += 1 }
        for recording in status.outputs.recordings { recordings[recording.state.rawValue, default: 0] += 1 }
        for source in status.sources { sources[source.state.rawValue, default: 0] += 1 }
    }
}
