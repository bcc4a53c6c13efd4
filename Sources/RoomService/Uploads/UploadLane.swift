import EncodedMedia
import EventSubscription
import ObjectStorage
import Synchronization

/// One target of uploads: its queue, and the times at which it may be used. Thread-safe.
final class UploadLane: Sendable {
    let target: UploadTarget
    let client: StorageClient
    let bell = Bell()
    private let metrics: Metrics

    private struct State {
        var queue: UploadQueue
        var endpoint: EndpointMachine
        /// Last fault since the last success, and the number of uploads that have failed since.
        var fault: StorageFault.Code?
        var failures = 0
        /// Finished files that were given up or did not fit into the queue at the last search.
        var failed = 0
        var unqueued = 0
    }
    private let state: Mutex<State>

    init(_ target: UploadTarget, settings: UploadSettings, pace: UploadPace?, metrics: Metrics) {
        self.target = target
        self.metrics = metrics
        let name = target.name.rawValue
        client = StorageClient(
            target, pace: pace,
            share: settings.bytesPerSecond.map { Double($0) / Double(settings.concurrency * settings.targets.count) },
            connections: settings.concurrency
        ) { metrics.count(.uploadBytes, name, by: Int64($0)) }
        state = Mutex(
            State(
                queue: UploadQueue(most: settings.mostWaiting), endpoint: EndpointMachine(policy: settings.policy)))
    }

    var name: String { target.name.rawValue }

    /// Judges whether a file with this version and these notes still has to be uploaded to the target. Blocks.
    ///
    /// - Parameter start: Start of the service in seconds since 1970.
    func judgement(of version: String, _ notes: UploadNotes, since start: Double) -> UploadWatch.Judgement {
        notes.read(name)?.judgement(of: version, at: target.place, since: start) ?? .due
    }

    func offer(_ item: UploadItem) -> UploadQueue.Offer {
        let offer = state.withLock { $0.queue.offer(item) }
        if offer == .taken { bell.ring() }
        return offer
    }

    /// Takes the files that may be uploaded now.
    ///
    /// - Returns: The files, and the time of the next check in ns of CLOCK_MONOTONIC, unless the bell rings before.
    func take(now: Int64) -> (items: [UploadItem], wakeAt: Int64?) {
        state.withLock { state in
            let items = state.queue.take(state.endpoint.allowance(now: now), now: now)
            state.endpoint.began(items.count)
            // When all places are taken, the end of an upload rings the bell.
            return (items, state.endpoint.allowance(now: now) > 0 ? state.queue.nextDue : state.endpoint.reopensAt)
        }
    }

    /// Records how an upload ended.
    func ended(_ item: UploadItem, _ outcome: UploadOutcome, now: Int64) {
        state.withLock { state in
            switch outcome {
            case .stored:
                state.endpoint.succeeded()
                (state.fault, state.failures) = (nil, 0)
            case .left: state.endpoint.abandoned()
            case .failed(let fault, _):
                if fault.isOfStorage {
                    state.endpoint.failed(now: now, random: .random(in: 0..<1))
                } else {
                    state.endpoint.abandoned()
                }
                state.fault = fault.code
                state.failures += 1
            }
            if case .failed(_, let delay?) = outcome {
                state.queue.delay(item, until: now.saturatingSum(Int64(saturating: delay / .nanoseconds(1))))
            } else {
                state.queue.finish(item)
            }
        }
        switch outcome {
        case .stored: metrics.count(.uploads, name, "stored")
        case .left: break
        case .failed(let fault, let delay):
            metrics.count(.uploadFailures, name, fault.code.rawValue)
            if delay == nil { metrics.count(.uploads, name, "failed") }
        }
        bell.ring()
    }

    /// Records the result of the last search for files, apart from those in the queue.
    func looked(failed: Int, unqueued: Int) {
        state.withLock { ($0.failed, $0.unqueued) = (failed, unqueued) }
    }

    func isRunning(_ path: String) -> Bool { state.withLock { $0.queue.isRunning(path) } }

    /// Number of files by state, with the states' names in metrics.
    var counts: [String: Int] {
        state.withLock { state in
            var counts = state.queue.counts
            counts["waiting", default: 0] += state.unqueued
            counts["failed"] = state.failed
            return counts
        }
    }

    /// A description of failures for operators; `nil` while nothing fails.
    var problem: String? {
        state.withLock { state in
            state.fault.map { "\(name): \(state.failures) attempts have failed since the last success: \($0.rawValue)" }
                ?? (state.failed > 0 ? "\(name): \(state.failed) files were given up" : nil)
        }
    }
}

/// The result of an attempt to upload a file.
enum UploadOutcome: Sendable {
    case stored
    /// The file is gone or has changed, or the service is stopping.
    case left
    /// The attempt failed. `nil` = not retried before the next start.
    case failed(StorageFault, retryAfter: Duration?)
}
