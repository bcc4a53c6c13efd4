import EncodedMedia
import Foundation
import MediaFormats
import RTMP
import Synchronization
import TextFormats

/// The pull of kinds that run in a separate process: a demuxer or a decoder that fails ends only this source.
final class WorkerPull: SourcePull {
    private struct State {
        var runner: Task<Void, Never>?
        var process: WorkerProcess?
        var isStopped = false
        var transcoded: Set<Track> = []
    }

    /// Longest wait for a worker that was asked to end, in seconds.
    private static let patience = 1.5

    private let request: PullRequest
    private let kind: any WorkerPullKind.Type
    private let redaction: URLRedaction
    private let receiver: PullReceiver
    private let state = Mutex(State())

    /// Begins to connect and returns at once.
    static func open(
        _ request: PullRequest, of kind: any WorkerPullKind.Type, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = WorkerPull(request, kind, onEvent)
        pull.state.withLock { state in state.runner = Task { await pull.start() } }
        return pull
    }

    private init(
        _ request: PullRequest, _ kind: any WorkerPullKind.Type, _ onEvent: @escaping @Sendable (PullEvent) -> Void
    ) {
        self.request = request
        self.kind = kind
        redaction = URLRedaction(request.url)
        receiver = PullReceiver(onEvent)
    }

    deinit { state.withLock { $0.process }?.kill() }

    var transcoded: Set<Track> { state.withLock { $0.transcoded } }

    /// Number of the worker's process; `nil` until it runs.
    var processID: Int32? { state.withLock { $0.process }?.processID }

    func stop() { _ = beginToStop() }

    func close() async {
        let (runner, process) = beginToStop()
        await runner?.value
        // It may have been created in the meantime.
        guard let process = process ?? state.withLock({ $0.process }) else { return }
        await process.waitForExit()
    }

    private func beginToStop() -> (Task<Void, Never>?, WorkerProcess?) {
        receiver.silence()
        let (runner, process) = state.withLock { state in
            state.isStopped = true
            return (state.runner, state.process)
        }
        runner?.cancel()
        process?.finish()
        process?.kill(after: Self.patience)
        return (runner, process)
    }

    private func start() async {
        do throws(PullEnd) {
            let settings = try await checkedSettings()
            try start(settings)
        } catch {
            receiver.end(PullEnd(error.kind, redaction.clean(error.words)))
        }
    }

    /// Checks the URL, and replaces its host by an allowed address.
    private func checkedSettings() async throws(PullEnd) -> PullSettings {
        var address = try PullAddress(request.url)
        _ = try kind.head(for: address, latency: request.options.latency ?? kind.options.latency ?? .zero)
        let host = address.host
        let destination = Destination(
            scheme: address.scheme, host: host, port: address.port ?? kind.scheme(of: request.url)?.port ?? 0,
            limits: request.limits)
        if kind.usesTCP, request.isRetry {
            // Elements do not report what is wrong with a certificate.
            let isSecure = kind.scheme(of: request.url)?.isSecure == true
            try await ConnectionProbe.run(
                destination, tls: isSecure ? request.trust ?? .system : nil, timeout: request.options.connectTimeout,
                redaction)
        }
        if kind.usesNetwork(address), request.limits != nil {
            let found: InternetAddress?
            do throws(Destination.Unreachable) {
                found = try await destination.check(within: .seconds(5))
            } catch {
                throw PullEnd(error.fault, redaction)
            }
            // The certificate is for a name, and protects against servers without a certificate for it.
            if let found, !kind.judgesAddresses, kind.scheme(of: request.url)?.isSecure != true {
                address.put("\(found)")
            }
        }
        return PullSettings(
            url: address.text, host: host, reach: request.limits?.reach, idleTimeout: request.options.idleTimeout,
            latency: request.options.latency, carriesH265: request.videoCodecs.contains(.h265) ? true : nil)
    }

    private func start(_ settings: PullSettings) throws(PullEnd) {
        guard let worker = request.worker else {
            throw PullEnd(.notInstalled, "there is no mixworker to pull this URL with")
        }
        guard var line = try? JSONEncoder().encode(settings) else {
            throw PullEnd(.badURL, "the URL cannot be passed on")
        }
        line.append(0x0A)
        let reader = FLVPullReader(receiver) { [weak self] cue in self?.take(cue) }
        let process: WorkerProcess
        do {
            process = try WorkerProcess(
                executable: worker, arguments: ["pull"],
                onBytes: { reader.push($0, arrivedAt: MonotonicClock.now()) },
                onExit: { [receiver] end in
                    receiver.end(PullEnd(.crashed, "the process that pulls it \(end.failure)"))
                })
        } catch {
            throw PullEnd(.lost, "the process that pulls it cannot be started: \(error)")
        }
        process.send(Array(line))
        let isStopped = state.withLock { state in
            state.process = process
            return state.isStopped
        }
        if isStopped { _ = beginToStop() }
    }

    private func take(_ cue: FLVCue) {
        switch cue.name {
        case PullCue.transcoded:
            guard let track = PullCue.track(cue.text) else { return }
            state.withLock { _ = $0.transcoded.insert(track) }
        case PullCue.end:
            let end = PullCue.end(cue.text)
            receiver.end(PullEnd(end.kind, redaction.clean(end.words)))
        default: break
        }
    }
}
