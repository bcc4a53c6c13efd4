import EncodedMedia
import Foundation
import MediaFormats
import RTMP
import Synchronization

/// Has the tracks that the program does not carry transcoded by a separate process (`mixworker pull`).
///
/// The relay keeps the connection to the source. It sends the tags of these tracks to the worker and reads the result,
/// which keeps its timestamps, together with the other track. The process is started with the first tag.
final class TrackTranscoder: Sendable {
    private struct State {
        var process: WorkerProcess?
        var isStopped = false
        var transcoded: Set<Track> = []
    }

    /// Largest number of bytes waiting for the worker: 20 s of 6 Mbit/s.
    private static let mostPending = 16 << 20
    /// Longest wait for a worker that was asked to end, in seconds.
    private static let patience = 1.0

    private let receiver: PullReceiver
    private let worker: URL
    private let state = Mutex(State())

    init(_ receiver: PullReceiver, worker: URL) {
        self.receiver = receiver
        self.worker = worker
    }

    deinit { state.withLock { $0.process }?.kill() }

    var transcoded: Set<Track> { state.withLock { $0.transcoded } }

    /// Sends the worker the next tags.
    ///
    /// - Parameter reader: The reader that set them aside.
    func take(_ tags: [FLVReader.SetAside], from reader: FLVReader) {
        let process: WorkerProcess?
        do {
            process = try state.withLock { state in
                guard !state.isStopped else { return nil }
                if state.process == nil { state.process = try start(reader) }
                return state.process
            }
        } catch {
            return receiver.end(PullEnd(.lost, "the process that transcodes it cannot be started: \(error)"))
        }
        guard let process else { return }
        guard process.pendingBytes < Self.mostPending else {
            return receiver.end(
                PullEnd(.tooMuchPending, "it cannot be transcoded as fast as it comes: the machine is too slow for it"))
        }
        process.send(tags.reduce(into: []) { $0 += $1.tag.encoded })
    }

    private func start(_ reader: FLVReader) throws -> WorkerProcess {
        let output = FLVPullReader(receiver, FLVReader(continuing: reader), nil) { [weak self] cue in self?.take(cue) }
        let process = try WorkerProcess(
            executable: worker, arguments: ["pull"],
            onBytes: { output.push($0, arrivedAt: MonotonicClock.now()) },
            onExit: { [receiver] end in
                receiver.end(PullEnd(.lost, "the process that transcodes it \(end.failure)"))
            })
        var settings = try JSONEncoder().encode(PullSettings(url: "", host: "", idleTimeout: 0, isFed: true))
        settings.append(0x0A)
        process.send(Array(settings) + FLVTag.fileHeader)
        return process
    }

    private func take(_ cue: FLVCue) {
        switch cue.name {
        case PullCue.transcoded:
            guard let track = PullCue.track(cue.text) else { return }
            state.withLock { _ = $0.transcoded.insert(track) }
        case PullCue.end: receiver.end(PullCue.end(cue.text))
        default: break
        }
    }

    func stop() { _ = beginToStop() }

    func close() async {
        // Only one caller may wait for a process.
        await beginToStop()?.waitForExit()
    }

    private func beginToStop() -> WorkerProcess? {
        let process = state.withLock { state in
            state.isStopped = true
            return state.process
        }
        process?.finish()
        process?.kill(after: Self.patience)
        return process
    }
}
