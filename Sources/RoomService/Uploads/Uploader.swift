import EncodedMedia
import Foundation
import Logging
import ObjectStorage
import ServiceLifecycle

/// Uploads finished files to storages. It searches the disk for them, so that files that were finished while it was not
/// running are not missed, and never affects a program: files are read only after recorders and packagers have closed
/// them.
package final class Uploader: Service {
    private let settings: UploadSettings
    private let sources: [any UploadSource]
    private let lanes: [UploadLane]
    private let metrics: Metrics
    private let logger: Logger
    /// Start of the service in seconds since 1970.
    private let startedAt = wallClock()

    package init(_ settings: UploadSettings, sources: [any UploadSource], metrics: Metrics, logger: Logger) {
        let pace = settings.bytesPerSecond.map { UploadPace(bytesPerSecond: $0) }
        self.settings = settings
        self.sources = sources
        lanes = settings.targets.map { UploadLane($0, settings: settings, pace: pace, metrics: metrics) }
        self.metrics = metrics
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                for lane in lanes { group.addTask { await self.serve(lane) } }
                var watch = UploadWatch()
                repeat {
                    watch = await look(watch)
                } while (try? await Task.sleep(for: settings.interval)) != nil
                group.cancelAll()
            }
        }
        for lane in lanes { await lane.client.close() }
    }

    // MARK: Files

    /// Searches for finished files, and offers those that still have to be uploaded to the lanes.
    private func look(_ earlier: UploadWatch) async -> UploadWatch {
        let (sources, lanes, keepsFiles, start) = (sources, lanes, settings.keepsFiles, startedAt)
        let (watch, stored) = await offPool { () -> (UploadWatch, [UploadItem]) in
            var watch = earlier
            var figures: [UploadTarget.Name: (failed: Int, unqueued: Int)] = [:]
            var stored: [UploadItem] = []
            watch.look(in: sources, now: wallClock()) { notes, version in
                let judgements = lanes.map { $0.judgement(of: version, notes, since: start) }
                for (lane, judgement) in zip(lanes, judgements) where judgement == .givenUp {
                    figures[lane.target.name, default: (0, 0)].failed += 1
                }
                if judgements.contains(.due) { return .due }
                return judgements.contains(.givenUp) ? .givenUp : keepsFiles ? .settled : .due
            } take: { item in
                var isStored = true
                for lane in lanes where lane.judgement(of: item.version, item.notes, since: start) == .due {
                    isStored = false
                    if lane.offer(item) == .full { figures[lane.target.name, default: (0, 0)].unqueued += 1 }
                }
                if isStored { stored.append(item) }
            }
            for lane in lanes {
                let found = figures[lane.target.name] ?? (0, 0)
                lane.looked(failed: found.failed, unqueued: found.unqueued)
            }
            return (watch, stored)
        }
        for item in stored { await removeIfStored(item) }
        return watch
    }

    /// Removes a file that all targets have, if files are not kept.
    private func removeIfStored(_ item: UploadItem) async {
        guard !settings.keepsFiles, let source = source(of: item) else { return }
        let (lanes, start) = (lanes, startedAt)
        let isRemoved = await offPool {
            lanes.allSatisfy { $0.judgement(of: item.version, item.notes, since: start) == .settled }
                && source.remove(item)
        }
        if isRemoved { logger.info("\(item.file) is removed here: its objects are verified") }
    }

    private func source(of item: UploadItem) -> (any UploadSource)? { sources.first { $0.kind == item.kind } }

    // MARK: Uploads

    private func serve(_ lane: UploadLane) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let (items, wakeAt) = lane.take(now: MonotonicClock.now())
                for item in items { group.addTask { await self.upload(item, lane) } }
                await lane.bell.wait(until: wakeAt)
            }
        }
    }

    private func upload(_ item: UploadItem, _ lane: UploadLane) async {
        guard let source = source(of: item) else { return lane.ended(item, .left, now: MonotonicClock.now()) }
        let job = UploadJob(
            item: item, source: source, target: lane.target, client: lane.client, settings: settings,
            startedAt: startedAt, logger: logger)
        let outcome = await job.run()
        if case .stored = outcome { await removeIfStored(item) }
        lane.ended(item, outcome, now: MonotonicClock.now())
    }

    // MARK: For operators

    /// A description of the targets' problems; `nil` while nothing fails.
    package var problem: String? {
        let problems = lanes.compactMap(\.problem)
        return problems.isEmpty ? nil : problems.joined(separator: "; ")
    }

    /// Number of files for each target and state.
    package var counts: [(labels: [String], value: Double)] {
        lanes.flatMap { lane in lane.counts.sorted { $0.key < $1.key }.map { ([lane.name, $0.key], Double($0.value)) } }
    }

    /// Returns the uploads of a file to all targets. Blocks.
    ///
    /// - Parameter path: Path of the file.
    package func reports(of notes: UploadNotes, path: String) -> [UploadReport] {
        let now = wallClock()
        return lanes.map { lane in
            UploadReport(
                lane.target, notes.read(lane.name), isRunning: lane.isRunning(path), linkSeconds: settings.linkSeconds,
                now: now)
        }
    }
}
