import CGStreamer
import Dispatch
import Synchronization

/// A GStreamer pipeline created from a description, with its own queue for everything that can block.
///
/// Elements may be looked up and configured from any thread. `play()` and `tearDown()` are serialized on the pipeline's
/// queue, never on Swift's cooperative threads. The owner of a pipeline tears it down; a pipeline that is released
/// without that is torn down in the background.
public final class Pipeline: Sendable {
    public let name: String
    /// Errors, warnings and end of stream, for one reader. Ends after `tearDown()`.
    public let events: AsyncStream<BusEvent>

    private let core: Core
    private let queue: DispatchQueue

    /// - Parameters:
    ///   - description: Description as for `gst-launch-1.0`: `appsrc name=in ! queue ! fakesink`.
    ///   - name: Name in GStreamer's logs.
    /// - Throws: `GStreamerError` if an element is not installed (`.missingElement`), or the description cannot be read
    ///   (`.syntax`).
    public init(_ description: String, name: String) throws(GStreamerError) {
        let root = try pipelineRoot(description, name: name)
        self.name = name
        queue = DispatchQueue(label: "pipeline.\(name)")
        let (events, continuation) = AsyncStream.makeStream(of: BusEvent.self, bufferingPolicy: .bufferingNewest(64))
        self.events = events
        let sink = BusSink(continuation)
        core = Core(root, sink)
        try root.report(to: sink, name: name)
    }

    deinit {
        guard core.isAlive else { return }
        tearDownInBackground()
    }

    /// Starts the pipeline. Returns when GStreamer has accepted the change, which for live sources and connecting
    /// elements is before data flows: watch `events` for later failures.
    ///
    /// - Throws: `GStreamerError` (`.stateChange`) if an element refuses to start, or the pipeline has been torn down.
    public func play() async throws(GStreamerError) { try await change(to: GST_STATE_PLAYING) }

    /// Starts the pipeline as `play()` does, with the system's clock and a running time that was 0 at a given time.
    ///
    /// - Parameter start: Time in ns of CLOCK_MONOTONIC, not in the future. The running time does not stand still if the
    ///   pipeline is paused.
    /// - Throws: As `play()` does.
    public func play(since start: Int64) async throws(GStreamerError) {
        await onQueue { core in
            guard let root = core.root else { return }
            let clock = gst_system_clock_obtain()
            let pipeline = UnsafeMutableRawPointer(root.pointer).assumingMemoryBound(to: GstPipeline.self)
            gst_pipeline_use_clock(pipeline, clock)
            gst_object_unref(clock)
            // Without a start time the pipeline does not choose the base time itself.
            gst_element_set_start_time(root.pointer, GstClockTime.max)
            gst_element_set_base_time(root.pointer, GstClockTime(max(start, 0)))
        }
        try await play()
    }

    /// Opens the pipeline and lets it decode its first frames, none of which is delivered before `play()`. Returns when
    /// GStreamer has accepted the change, as `play()` does.
    ///
    /// - Throws: As `play()` does.
    public func prepare() async throws(GStreamerError) { try await change(to: GST_STATE_PAUSED) }

    private func change(to state: GstState) async throws(GStreamerError) {
        let failure: GStreamerError? = await onQueue { [name] core in
            guard let root = core.root else { return GStreamerError(.stateChange, "\(name): already torn down") }
            guard gst_element_set_state(root.pointer, state) == GST_STATE_CHANGE_FAILURE else { return nil }
            let reason = core.sink.firstError.map { "\($0)" } ?? "no reason given"
            return GStreamerError(.stateChange, "\(name) does not start: \(reason)")
        }
        if let failure { throw failure }
    }

    /// Stops the pipeline, joins its threads, releases its callbacks and frees its elements (except those that an
    /// `Element` or `AppSource` holds); then `events` ends. Idempotent: a second call returns when the first one has
    /// finished. Must not be awaited from inside a callback of this pipeline.
    public func tearDown() async {
        await onQueue { core in core.dismantle() }
    }

    /// Tears down like `tearDown()`, but waits for at most `limit`; the rest continues in the background.
    ///
    /// - Returns: Whether it finished in time.
    @discardableResult
    public func tearDown(within limit: Duration) async -> Bool {
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) * 1e-18
        return await withCheckedContinuation { continuation in
            let once = Once(continuation)
            queue.async(group: GStreamerRuntime.dismantling) { [core] in
                core.dismantle()
                once.resume(returning: true)
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { once.resume(returning: false) }
        }
    }

    /// Tears down like `tearDown()`, without waiting.
    public func tearDownInBackground() {
        queue.async(group: GStreamerRuntime.dismantling) { [core] in core.dismantle() }
    }

    /// Waits for at most `limit` until every sink has reached its end or there is an error. Consumes `events`, so there
    /// must be no other reader.
    ///
    /// - Returns: Whether the end or an error occurred in time.
    @discardableResult
    public func waitForEnd(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await event in self.events {
                    if case .warning = event { continue }
                    return true
                }
                return false
            }
            group.addTask {
                // Ends early, by cancellation, once the end has come.
                try? await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// The first error that was posted, even if `events` is not read.
    public var firstError: BusFailure? { core.sink.firstError }

    /// Returns the element called `name=…` in the description.
    ///
    /// - Throws: `GStreamerError` (`.notFound`) if there is none, or the pipeline has been torn down.
    public func element(_ name: String) throws(GStreamerError) -> Element {
        Element(try find(name), name: name)
    }

    /// Returns the `appsrc` called `name`.
    ///
    /// - Throws: `GStreamerError` (`.notFound`) as `element(_:)` does, or if the element is not an `appsrc`.
    public func appSource(_ name: String) throws(GStreamerError) -> AppSource {
        let element = try find(name)
        guard let source = cgst_app_source(element.pointer) else {
            throw GStreamerError(.notFound, "\(self.name): '\(name)' is not an appsrc")
        }
        return AppSource(ObjectRef(retaining: source), name: name)
    }

    /// Installs the receiver of the `appsink` called `name`. Call before `play()`.
    /// - Parameters:
    ///   - onSample: Called on the sink's streaming thread for every sample; must return soon, and must neither
    ///     change the state of the pipeline nor wait for anything.
    ///   - onEndOfStream: Called on the same thread after the last sample.
    @discardableResult
    public func appSink(
        _ name: String, onSample: @escaping @Sendable (borrowing Sample) -> Void,
        onEndOfStream: @escaping @Sendable () -> Void = {}
    ) throws(GStreamerError) -> Element {
        let element = try find(name)
        guard let pointer = cgst_app_sink(element.pointer) else {
            throw GStreamerError(.notFound, "\(self.name): '\(name)' is not an appsink")
        }
        setSampleCallbacks(of: pointer, SampleReceiver(onSample: onSample, onEndOfStream: onEndOfStream))
        core.add(ObjectRef(retaining: pointer))
        return Element(element, name: name)
    }

    private func find(_ name: String) throws(GStreamerError) -> ObjectRef<GstElement> {
        guard let root = core.root else { throw GStreamerError(.notFound, "\(self.name): already torn down") }
        guard let pointer = cgst_bin_by_name(root.pointer, name) else {
            throw GStreamerError(.notFound, "\(self.name): no element '\(name)'")
        }
        return ObjectRef(adopting: pointer)
    }

    private func onQueue<Result: Sendable>(_ work: @escaping @Sendable (Core) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            queue.async { [core] in continuation.resume(returning: work(core)) }
        }
    }
}

/// A continuation that several threads may try to resume.
private final class Once: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) { self.continuation = Mutex(continuation) }

    func resume(returning value: Bool) {
        let waiting = continuation.withLock { held in
            defer { held = nil }
            return held
        }
        waiting?.resume(returning: value)
    }
}

/// The GStreamer objects of a pipeline; empty once it is dismantled.
private final class Core: Sendable {
    private struct Held {
        var root: ObjectRef<GstElement>?
        /// Sinks whose callbacks are cleared at tear-down, because they may hold the pipeline's owner.
        var sinks: [ObjectRef<GstAppSink>] = []
    }

    let sink: BusSink
    private let held: Mutex<Held>

    init(_ root: ObjectRef<GstElement>, _ sink: BusSink) {
        self.sink = sink
        held = Mutex(Held(root: root))
    }

    var root: ObjectRef<GstElement>? { held.withLock { $0.root } }
    var isAlive: Bool { root != nil }

    func add(_ sink: ObjectRef<GstAppSink>) { held.withLock { $0.sinks.append(sink) } }

    /// Stops the pipeline and releases its objects. Blocks until the streaming threads have ended.
    func dismantle() {
        let taken = held.withLock { held in
            defer { held = Held(root: nil) }
            return held
        }
        guard let root = taken.root else { return }
        gst_element_set_state(root.pointer, GST_STATE_NULL)
        for sink in taken.sinks { clearSampleCallbacks(of: sink.pointer) }
        root.stopReporting()
        sink.finish()
    }
}
