import EncodedMedia
import GStreamerKit
import MixModel
import RTMP
import Synchronization
import TextFormats

/// The part that pulls share: one GStreamer source element with an FLV stream as its output, and a sink that hands on
/// the bytes as they come.
///
/// The sink neither waits for a clock nor prerolls. Otherwise, a source whose sound begins long before its first
/// picture would block itself.
final class FLVElementPull: Sendable {
    private struct State {
        var runner: Task<Void, Never>?
        /// `nil` after the last event.
        var receiver: (@Sendable (PullEvent) -> Void)?
        var isStopped = false
    }

    private let element: String
    private let properties: [(String, String)]
    private let redaction: URLRedaction
    private let destination: Destination?
    private let pinned: @Sendable (InternetAddress) -> [(String, String)]
    private let state: Mutex<State>

    /// Creates a pull; `start()` begins to connect.
    /// - Parameters:
    ///   - element: The element, in the notation of `gst-launch-1.0`, without anything that comes from outside.
    ///   - properties: Properties of the element. They are set one by one, so that a URL cannot be read as a part of a
    ///     description.
    ///   - limits: Addresses that the connection may go to; `nil` = any.
    ///   - pinned: Returns properties that make the element connect to the checked address. Without any, it looks the
    ///     host up again; docs/adr/0015 says what that leaves open.
    init(
        _ element: String, properties: [(String, String)], url: String, limits: Destination.Limits?,
        pinned: @escaping @Sendable (InternetAddress) -> [(String, String)] = { _ in [] },
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) {
        self.element = element
        self.properties = properties
        redaction = URLRedaction(url)
        destination = Destination(url: url, limits: limits)
        self.pinned = pinned
        state = Mutex(State(receiver: onEvent))
    }

    func start() {
        state.withLock { state in
            guard !state.isStopped, state.runner == nil else { return }
            state.runner = Task { await self.run() }
        }
    }

    func stop() { _ = beginToStop() }

    func close() async {
        guard let runner = beginToStop() else { return }
        await runner.value
    }

    private func beginToStop() -> Task<Void, Never>? {
        state.withLock { state in
            state.isStopped = true
            state.receiver = nil
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
            return end(with: error.description)
        }
        let pipeline: Pipeline
        do {
            pipeline = try makePipeline(properties + (address.map(pinned) ?? []))
            guard !state.withLock({ $0.isStopped }) else { return }
            try await pipeline.play()
        } catch {
            return end(with: error.message)
        }
        for await event in pipeline.events {
            switch event {
            case .warning: continue
            case .error(let failure): end(with: failure.message)
            case .endOfStream: end(with: pipeline.firstError?.message ?? ConnectionFault.endOfStream)
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
        try pipeline.appSink("out") { [weak self] sample in
            let arrival = MonotonicClock.now()
            guard let receiver = self?.state.withLock({ $0.receiver }) else { return }
            receiver(.bytes(sample.bytes, arrivedAt: arrival))
        }
        return pipeline
    }

    private func end(with reason: String) {
        let receiver = state.withLock { state in
            defer { state.receiver = nil }
            return state.receiver
        }
        receiver?(.ended(reason: redaction.clean(reason)))
    }
}
