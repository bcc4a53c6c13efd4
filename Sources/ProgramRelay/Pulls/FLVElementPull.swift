import EncodedMedia
import GStreamerKit
import RTMP
import Synchronization
import TextFormats

/// The pull of kinds that use one GStreamer source element with an FLV stream as its output, and a sink that reads the
/// bytes as they come.
///
/// The sink neither waits for a clock nor prerolls. Otherwise, a source whose sound begins long before its first
/// picture would block itself.
final class FLVElementPull: SourcePull {
    private struct State {
        var runner: Task<Void, Never>?
        var isStopped = false
    }

    private let element: String
    private let properties: [(String, String)]
    private let redaction: URLRedaction
    private let destination: Destination?
    private let pinned: @Sendable (InternetAddress) -> [(String, String)]
    private let receiver: PullReceiver
    private let reader: FLVPullReader
    private let state = Mutex(State())

    /// Begins to connect and returns at once.
    ///
    /// - Parameters:
    ///   - element: The element, in the notation of `gst-launch-1.0`, without anything that comes from outside.
    ///   - properties: Properties of the element. They are set one by one, so that a URL cannot be read as a part of a
    ///     description.
    ///   - kind: The kind of pull, which knows the default port of the URL.
    ///   - pinned: Returns properties that make the element connect to the checked address. Without any, it looks the
    ///     host up again; docs/adr/0015 says what that leaves open.
    static func open(
        _ element: String, properties: [(String, String)], _ request: PullRequest, of kind: any PullProtocol.Type,
        pinned: @escaping @Sendable (InternetAddress) -> [(String, String)] = { _ in [] },
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = FLVElementPull(
            element, properties,
            Destination(
                url: request.url, limits: request.limits, defaultPort: kind.scheme(of: request.url)?.port),
            URLRedaction(request.url), pinned, PullReceiver(pacing: request.options.pacing, onEvent))
        pull.start()
        return pull
    }

    private init(
        _ element: String, _ properties: [(String, String)], _ destination: Destination?, _ redaction: URLRedaction,
        _ pinned: @escaping @Sendable (InternetAddress) -> [(String, String)], _ receiver: PullReceiver
    ) {
        self.element = element
        self.properties = properties
        self.destination = destination
        self.redaction = redaction
        self.pinned = pinned
        self.receiver = receiver
        reader = FLVPullReader(receiver)
    }

    private func start() {
        state.withLock { state in state.runner = Task { await self.run() } }
    }

    func stop() { _ = beginToStop() }

    func close() async {
        guard let runner = beginToStop() else { return }
        await runner.value
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
        let address: InternetAddress?
        do throws(Destination.Unreachable) {
            address = try await checkedAddress()
        } catch {
            return receiver.end(PullEnd(error.fault, redaction))
        }
        let pipeline: Pipeline
        do {
            pipeline = try makePipeline(properties + (address.map(pinned) ?? []))
            guard !state.withLock({ $0.isStopped }) else { return }
            try await pipeline.play()
        } catch {
            return receiver.end(PullEnd(error, redaction))
        }
        for await event in pipeline.events {
            switch event {
            case .warning: continue
            case .error(let failure): receiver.end(PullEnd(failure, redaction))
            case .endOfStream: receiver.end(pipeline.firstError.map { PullEnd($0, redaction) } ?? .ended)
            }
            break
        }
        await pipeline.tearDown(within: .seconds(2))
    }

    /// Looks the host up and returns an allowed address; `nil` if there are no limits to check.
    private func checkedAddress() async throws(Destination.Unreachable) -> InternetAddress? {
        guard let destination, destination.limits != nil else { return nil }
        return try await destination.check(within: .seconds(5))
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
