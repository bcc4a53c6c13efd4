import EncodedMedia
import GStreamerKit
import RTMP
import Synchronization
import TextFormats

/// The pull of kinds that use one GStreamer source element with an FLV stream as its output, and a sink that reads the
/// bytes as they come.
///
/// The sink neither waits for a clock nor prerolls. Otherwise, a source whose audio begins long before its first
/// picture would block itself.
final class FLVElementPull: SourcePull {
    private struct State {
        var runner: Task<Void, Never>?
        var isStopped = false
    }

    private let element: String
    private let request: PullRequest
    private let kind: any PullProtocol.Type
    private let properties: @Sendable (PullRequest) -> [(String, String)]
    private let pinned: @Sendable (PullRequest, InternetAddress) -> [(String, String)]
    private let redirect: @Sendable (PullRequest) async -> String?
    private let receiver: PullReceiver
    private let reader: FLVPullReader
    private let state = Mutex(State())

    /// Begins to connect and returns at once.
    ///
    /// - Parameters:
    ///   - element: The element, in the notation of `gst-launch-1.0`, without any external text.
    ///   - kind: The kind of pull, which knows the default port of the URL.
    ///   - properties: Returns properties of the element. They are set one by one, so that a URL cannot be read as a
    ///     part of a description.
    ///   - pinned: Returns properties that make the element connect to the checked address. Without any, the element
    ///     resolves the host again; docs/adr/0015 explains the remaining risk.
    ///   - redirect: Returns the URL to which the server redirects a request that brought no media; `nil` if it does
    ///     not. Each is checked like the first URL, and at most `HTTPRedirect.most` are followed.
    static func open(
        _ element: String, _ request: PullRequest, of kind: any PullProtocol.Type,
        properties: @escaping @Sendable (PullRequest) -> [(String, String)],
        pinned: @escaping @Sendable (PullRequest, InternetAddress) -> [(String, String)] = { _, _ in [] },
        redirect: @escaping @Sendable (PullRequest) async -> String? = { _ in nil },
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = FLVElementPull(element, request, kind, properties, pinned, redirect, onEvent)
        pull.start()
        return pull
    }

    private init(
        _ element: String, _ request: PullRequest, _ kind: any PullProtocol.Type,
        _ properties: @escaping @Sendable (PullRequest) -> [(String, String)],
        _ pinned: @escaping @Sendable (PullRequest, InternetAddress) -> [(String, String)],
        _ redirect: @escaping @Sendable (PullRequest) async -> String?,
        _ onEvent: @escaping @Sendable (PullEvent) -> Void
    ) {
        self.element = element
        self.request = request
        self.kind = kind
        self.properties = properties
        self.pinned = pinned
        self.redirect = redirect
        receiver = PullReceiver(pacing: request.options.pacing, onEvent)
        reader = FLVPullReader(receiver, request)
    }

    private func start() {
        state.withLock { state in state.runner = Task { await self.run() } }
    }

    var transcoded: Set<Track> { reader.transcoded }

    func stop() {
        _ = beginToStop()
        reader.stop()
    }

    func close() async {
        await beginToStop()?.value
        await reader.close()
    }

    private func beginToStop() -> Task<Void, Never>? {
        receiver.silence()
        return state.withLock { state in
            state.isStopped = true
            state.runner?.cancel()
            return state.runner
        }
    }

    /// Runs until the connection has ended or `stop()` was called: cancellation ends the loop over the events.
    private func run() async {
        var request = request
        var redirects = 0
        while let end = await play(request) {
            guard !receiver.hasConnected, !Task.isCancelled, let next = await redirect(request) else {
                return receiver.end(end)
            }
            redirects += 1
            guard redirects <= HTTPRedirect.most else {
                return receiver.end(PullEnd(.refused, "the server redirects more than \(HTTPRedirect.most) times"))
            }
            request.url = next
        }
    }

    /// Plays one URL until the connection has ended.
    ///
    /// - Returns: The end; `nil` if the pull was stopped.
    private func play(_ request: PullRequest) async -> PullEnd? {
        let redaction = URLRedaction(request.url)
        let address: InternetAddress?
        do throws(Destination.Unreachable) {
            address = try await checkedAddress(of: request)
        } catch {
            return PullEnd(error.fault, redaction)
        }
        if request.isRetry, let destination = destination(of: request) {
            do throws(PullEnd) {
                try await ConnectionProbe.run(destination, timeout: min(request.options.connectTimeout, 5), redaction)
            } catch {
                return error
            }
        }
        let pipeline: Pipeline
        do {
            pipeline = try makePipeline(properties(request) + (address.map { pinned(request, $0) } ?? []))
            guard !state.withLock({ $0.isStopped }) else { return nil }
            try await pipeline.play()
        } catch {
            return PullEnd(error, redaction)
        }
        var end: PullEnd?
        for await event in pipeline.events {
            switch event {
            case .warning: continue
            case .error(let failure): end = PullEnd(failure, redaction)
            case .endOfStream: end = pipeline.firstError.map { PullEnd($0, redaction) } ?? .ended
            }
            break
        }
        await pipeline.tearDown(within: .seconds(2))
        return end
    }

    /// Resolves the host and returns an allowed address; `nil` if there are no limits to check.
    private func checkedAddress(of request: PullRequest) async throws(Destination.Unreachable) -> InternetAddress? {
        guard request.limits != nil, let destination = destination(of: request) else { return nil }
        return try await destination.check(within: .seconds(5))
    }

    private func destination(of request: PullRequest) -> Destination? {
        Destination(url: request.url, limits: request.limits, defaultPort: kind.scheme(of: request.url)?.port)
    }

    private func makePipeline(_ properties: [(String, String)]) throws(GStreamerError) -> Pipeline {
        let pipeline = try Pipeline("\(element) name=source ! appsink name=out sync=false async=false", name: "pull")
        let source = try pipeline.element("source")
        for (property, value) in properties { try source.set(property, to: value) }
        try pipeline.appSink("out") { [reader] sample in
            let arrival = MonotonicClock.now()
            reader.push(sample.bytes, arrivedAt: arrival)
        }
        return pipeline
    }
}
