import CGStreamer
import EncodedMedia
import Synchronization

/// The state that the callbacks of a `WebRTCPeer` share: the receiver of its events, its chains and its counters.
///
/// Has no reference to the peer, so that there is no reference cycle through GStreamer's objects.
final class PeerWatch: Sendable {
    private struct State {
        var chains: [WebRTCPeer.Media: ObjectRef<GstElement>]
        var traffic: [WebRTCPeer.Media: WebRTCPeer.Traffic] = [:]
        var onEvent: (@Sendable (WebRTCPeer.Event) -> Void)?
        var hasGathered = false
        var lastHeard: Int64?
    }

    private let state: Mutex<State>

    init(
        chains: [WebRTCPeer.Media: ObjectRef<GstElement>], onEvent: @escaping @Sendable (WebRTCPeer.Event) -> Void
    ) {
        state = Mutex(State(chains: chains, onEvent: onEvent))
    }

    /// Suppresses all further events.
    func silence() { state.withLock { $0.onEvent = nil } }

    /// Releases the elements.
    func release() { state.withLock { $0.chains = [:] } }

    func send(_ event: WebRTCPeer.Event) {
        let onEvent = state.withLock { state -> (@Sendable (WebRTCPeer.Event) -> Void)? in
            // The state is reported again with each added stream.
            if event == .gathered {
                guard !state.hasGathered else { return nil }
                state.hasGathered = true
            }
            return state.onEvent
        }
        onEvent?(event)
    }

    func chain(of media: WebRTCPeer.Media) -> ObjectRef<GstElement>? { state.withLock { $0.chains[media] } }

    func traffic(of media: WebRTCPeer.Media) -> WebRTCPeer.Traffic { state.withLock { $0.traffic[media] ?? .init() } }

    func count(_ packets: Int, bytes: Int, of media: WebRTCPeer.Media) {
        let now = MonotonicClock.now()
        state.withLock { state in
            state.traffic[media, default: .init()].packets += packets
            state.traffic[media, default: .init()].bytes += bytes
            state.traffic[media, default: .init()].last = now
        }
    }

    /// Arrival in ns of the last packet of any kind except ICE.
    var lastHeard: Int64? { state.withLock { $0.lastHeard } }

    fileprivate func hear() {
        let now = MonotonicClock.now()
        state.withLock { $0.lastHeard = now }
    }

    /// Records when packets leave an element that receives them.
    func listen(to element: UnsafeMutablePointer<GstElement>) {
        guard let pad = gst_element_get_static_pad(element, "src") else { return }
        defer { gst_object_unref(pad) }
        gst_pad_add_probe(pad, cgst_probe_of_buffers(), onArrival, CallbackBox.retain(self), releaseBox)
    }

    /// Counts the packets that leave a payloader.
    func count(packetsOf payloader: ObjectRef<GstElement>, _ media: WebRTCPeer.Media) {
        guard let pad = gst_element_get_static_pad(payloader.pointer, "src") else { return }
        defer { gst_object_unref(pad) }
        count(on: pad, media)
    }

    private func count(on pad: UnsafeMutablePointer<GstPad>, _ media: WebRTCPeer.Media) {
        gst_pad_add_probe(
            pad, cgst_probe_of_buffers(), onPackets, CallbackBox.retain(PacketCounter(watch: self, media: media)),
            releaseBox)
    }

    /// Handles the keyframe requests that arrive at the video payloader.
    func takeKeyframeRequests(to payloader: ObjectRef<GstElement>) {
        guard let pad = gst_element_get_static_pad(payloader.pointer, "src") else { return }
        defer { gst_object_unref(pad) }
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, onUpstreamEvent, CallbackBox.retain(self), releaseBox)
    }

    /// Links a pad that has appeared to the chain of its media. A sender that restarts gets the chain.
    func link(_ pad: UnsafeMutablePointer<GstPad>) {
        guard cgst_is_source_pad(pad) != 0, let name = consumingText(of: cgst_pad_caps_text(pad, "media")),
            let media = WebRTCPeer.Media(rawValue: name), let chain = chain(of: media),
            let entrance = gst_element_get_static_pad(chain.pointer, "sink")
        else { return }
        defer { gst_object_unref(entrance) }
        if let former = gst_pad_get_peer(entrance) {
            gst_pad_unlink(former, entrance)
            gst_object_unref(former)
        }
        count(on: pad, media)
        // Late audio is of no use, and its codec conceals losses.
        if media == .video { _ = cgst_ask_again(pad) }
        gst_pad_link(pad, entrance)
    }
}

/// The user data of a probe.
private struct PacketCounter: Sendable {
    let watch: PeerWatch
    let media: WebRTCPeer.Media
}

private func onPackets(
    _ pad: UnsafeMutablePointer<GstPad>?, _ info: UnsafeMutablePointer<GstPadProbeInfo>?,
    _ data: UnsafeMutableRawPointer?
) -> GstPadProbeReturn {
    guard let info, let counter = CallbackBox<PacketCounter>.peek(data) else { return GST_PAD_PROBE_OK }
    var bytes: gsize = 0
    var packets: guint = 0
    cgst_probed(info, &bytes, &packets)
    counter.watch.count(Int(packets), bytes: Int(bytes), of: counter.media)
    return GST_PAD_PROBE_OK
}

private func onArrival(
    _ pad: UnsafeMutablePointer<GstPad>?, _ info: UnsafeMutablePointer<GstPadProbeInfo>?,
    _ data: UnsafeMutableRawPointer?
) -> GstPadProbeReturn {
    CallbackBox<PeerWatch>.peek(data)?.hear()
    return GST_PAD_PROBE_OK
}

private func onUpstreamEvent(
    _ pad: UnsafeMutablePointer<GstPad>?, _ info: UnsafeMutablePointer<GstPadProbeInfo>?,
    _ data: UnsafeMutableRawPointer?
) -> GstPadProbeReturn {
    guard let info, cgst_asks_for_keyframe(info) != 0 else { return GST_PAD_PROBE_OK }
    CallbackBox<PeerWatch>.peek(data)?.send(.keyframeRequested)
    // No element upstream of the payloader could comply.
    return GST_PAD_PROBE_DROP
}
