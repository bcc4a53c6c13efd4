import CGStreamer
import Synchronization

/// A chain of elements without its own thread: a push runs all elements on the caller's thread and delivers their
/// output before it returns, unless an element has its own threads.
///
/// For decoders and encoders, whose elements neither connect to anything nor wait. All calls may come from any thread;
/// pushes are serialized. The owner calls `tearDown()`; a chain that is released without it is torn down by the thread
/// that releases it.
public final class DirectPipeline: Sendable {
    /// The chain's answer to a push.
    public typealias Flow = AppSource.Flow

    public let name: String
    private let core: Core

    /// - Parameters:
    ///   - elements: The elements in their order, each as in a description for `gst-launch-1.0`. Caps may stand between
    ///     two of them and at the end. The first has a sink pad, and the last a source pad.
    ///   - caps: Format of the buffers that are pushed.
    ///   - name: Name in GStreamer's logs and in errors.
    ///   - onSample: Called for every output buffer, mostly on the thread that pushes. Must neither push into this
    ///     chain nor tear it down.
    /// - Throws: `GStreamerError`, if an element is missing, or the elements or the caps cannot be read.
    public init(
        _ elements: [String], caps: StreamCaps, name: String,
        onSample: @escaping @Sendable (borrowing Sample) -> Void
    ) throws(GStreamerError) {
        self.name = name
        let description = elements.map(Self.element).joined(separator: " ! ")
        let root = try pipelineRoot(description, name: name)
        guard let entrance = gst_bin_find_unlinked_pad(cgst_bin(root.pointer), GST_PAD_SINK),
            let exit = gst_bin_find_unlinked_pad(cgst_bin(root.pointer), GST_PAD_SRC)
        else { throw GStreamerError(.syntax, "\(name): the elements are no chain with two open ends") }
        let inside = (first: ObjectRef(adopting: entrance), last: ObjectRef(adopting: exit))
        guard let source = gst_pad_new("in", GST_PAD_SRC), let sink = gst_pad_new("out", GST_PAD_SINK) else {
            throw GStreamerError(.resource, "\(name): no memory for pads")
        }
        let ends = (source: ObjectRef(sinking: source), sink: ObjectRef(sinking: sink))
        gst_pad_set_chain_function_full(sink, onBuffer, CallbackBox.retain(onSample), releaseBox)
        gst_pad_set_event_function_full(sink, onEvent, nil, nil)
        gst_pad_set_query_function_full(sink, onQuery, nil, nil)
        gst_pad_set_event_function_full(source, onEvent, nil, nil)
        guard gst_pad_link(source, inside.first.pointer) == GST_PAD_LINK_OK,
            gst_pad_link(inside.last.pointer, sink) == GST_PAD_LINK_OK
        else { throw GStreamerError(.syntax, "\(name): the ends of the chain cannot be linked") }
        let bus = BusSink(nil)
        try root.report(to: bus, name: name)
        core = Core(root: root, source: ends.source, sink: ends.sink, bus: bus, caps: caps)
    }

    deinit { core.dismantle() }

    /// Makes the chain ready for pushes. Blocks until its elements have opened their codecs.
    public func start() throws(GStreamerError) { try core.start(name: name) }

    /// Ends the chain and frees its elements. Waits for a push in progress; later pushes return `.flushing`.
    /// Idempotent. Must not be called from inside `onSample`.
    public func tearDown() { core.dismantle() }

    /// The first error that an element reported.
    public var firstError: BusFailure? { core.bus.firstError }

    /// Copies `bytes` into a buffer and pushes it. Times are in ns.
    @discardableResult
    public func push(
        bytes: UnsafeRawBufferPointer, pts: UInt64? = nil, dts: UInt64? = nil, duration: UInt64? = nil,
        isDelta: Bool = false
    ) -> Flow {
        guard let buffer = makeBuffer(copying: bytes, pts: pts, dts: dts, duration: duration, isDelta: isDelta)
        else { return .error }
        return Flow(gst_pad_push(core.source.pointer, buffer))
    }

    /// Pushes a picture without copying its pixels; times are in ns. No caller may draw onto `frame` afterwards. The
    /// same frame may be pushed again with another time.
    @discardableResult
    public func push(_ frame: VideoFrame, pts: UInt64, duration: UInt64? = nil) -> Flow {
        guard let buffer = frame.bufferForPush(pts: pts, duration: duration) else { return .error }
        return Flow(gst_pad_push(core.source.pointer, buffer))
    }

    /// Asks the encoder of the chain to make the first picture at or after `runningTime` (ns), which is pushed after
    /// this, an IDR keyframe.
    ///
    /// - Returns: False if the chain did not accept the request.
    @discardableResult
    public func pushForceKeyUnit(runningTime: UInt64) -> Bool {
        let event = gst_video_event_new_downstream_force_key_unit(
            clockTime(runningTime), clockTime(runningTime), clockTime(runningTime), 1, 0)
        return gst_pad_push_event(core.source.pointer, event) != 0
    }

    /// Returns the filter element for caps; any other text unchanged.
    private static func element(_ text: String) -> String {
        let kind = text.prefix { $0 != "," && $0 != " " }
        return kind.contains("/") ? "capsfilter caps=\"\(text)\"" : text
    }
}

/// The GStreamer objects of a chain.
private final class Core: Sendable {
    private enum Phase { case new, running, dismantled }

    /// The pad that pushes into the first element.
    let source: ObjectRef<GstPad>
    let bus: BusSink
    private let root: ObjectRef<GstElement>
    /// The pad that the last element pushes into.
    private let sink: ObjectRef<GstPad>
    private let caps: StreamCaps
    private let phase = Mutex(Phase.new)

    init(
        root: ObjectRef<GstElement>, source: ObjectRef<GstPad>, sink: ObjectRef<GstPad>, bus: BusSink, caps: StreamCaps
    ) {
        self.root = root
        self.source = source
        self.sink = sink
        self.bus = bus
        self.caps = caps
    }

    func start(name: String) throws(GStreamerError) {
        let caps = try caps.make(for: name)
        let hasStarted = phase.withLock { phase in
            guard phase == .new, gst_element_set_state(root.pointer, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE
            else { return false }
            phase = .running
            gst_pad_set_active(sink.pointer, 1)
            gst_pad_set_active(source.pointer, 1)
            return true
        }
        guard hasStarted else {
            cgst_caps_unref(caps)
            let reason = bus.firstError.map { "\($0)" } ?? "no reason given"
            throw GStreamerError(.stateChange, "\(name) does not start: \(reason)")
        }
        cgst_begin_stream(source.pointer, caps)
    }

    func dismantle() {
        phase.withLock { phase in
            guard phase != .dismantled else { return }
            phase = .dismantled
            // A pad becomes inactive once no push is in progress in it.
            gst_pad_set_active(source.pointer, 0)
            gst_element_set_state(root.pointer, GST_STATE_NULL)
            gst_pad_set_active(sink.pointer, 0)
            root.stopReporting()
            // Releases the receiver, which may hold the chain's owner.
            gst_pad_set_chain_function_full(sink.pointer, onLateBuffer, nil, nil)
        }
    }
}

private func onBuffer(
    _ pad: UnsafeMutablePointer<GstPad>?, _ parent: UnsafeMutablePointer<GstObject>?,
    _ buffer: UnsafeMutablePointer<GstBuffer>?
) -> GstFlowReturn {
    guard let pad, let buffer else { return GST_FLOW_OK }
    defer { cgst_buffer_unref(buffer) }
    guard let receive = CallbackBox<@Sendable (borrowing Sample) -> Void>.peek(cgst_chain_data(pad)),
        let made = cgst_pad_sample(pad, buffer), let sample = Sample(adopting: made)
    else { return GST_FLOW_OK }
    receive(sample)
    return GST_FLOW_OK
}

private func onLateBuffer(
    _ pad: UnsafeMutablePointer<GstPad>?, _ parent: UnsafeMutablePointer<GstObject>?,
    _ buffer: UnsafeMutablePointer<GstBuffer>?
) -> GstFlowReturn {
    if let buffer { cgst_buffer_unref(buffer) }
    return GST_FLOW_FLUSHING
}

/// Accepts every event. The pad itself keeps the relevant ones (caps, segment).
private func onEvent(
    _ pad: UnsafeMutablePointer<GstPad>?, _ parent: UnsafeMutablePointer<GstObject>?,
    _ event: UnsafeMutablePointer<GstEvent>?
) -> gboolean {
    if let event { cgst_event_unref(event) }
    return 1
}

private func onQuery(
    _ pad: UnsafeMutablePointer<GstPad>?, _ parent: UnsafeMutablePointer<GstObject>?,
    _ query: UnsafeMutablePointer<GstQuery>?
) -> gboolean { cgst_exit_query(pad, parent, query) }
