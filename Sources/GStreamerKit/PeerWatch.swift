import CGStreamer
import EncodedMedia
import Synchronization

/// The state that the callbacks of a `WebRTCPeer` share: the receiver of its events, the other side's identity, its
/// chains and its counters.
///
/// Has no reference to the peer, so that there is no reference cycle through GStreamer's objects.
final class PeerWatch: Sendable {
    private typealias Receiver = @Sendable (WebRTCPeer.Event) -> Void

    private struct State {
        var chains: [WebRTCPeer.Media: ObjectRef<GstElement>]
        var traffic: [WebRTCPeer.Media: WebRTCPeer.Traffic] = [:]
        var onEvent: Receiver?
        var hasGathered = false
        var identity = PeerIdentity()
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
        let (outcome, onEvent) = state.withLock { state -> (WebRTCPeer.Event, Receiver?) in
            if event == .gathered {
                // The state is reported again with each added stream.
                guard !state.hasGathered else { return (event, nil) }
                state.hasGathered = true
            } else if event == .connection(.connected) {
                if let distrust = state.identity.connect() { return (.untrusted(distrust), state.onEvent) }
                guard state.identity.verdict == .proven else { return (event, nil) }
            }
            return (event, state.onEvent)
        }
        onEvent?(outcome)
    }

    /// Records the other side's description, which names the certificate that it will show.
    func expect(_ description: String) {
        if let distrust = state.withLock({ $0.identity.take(description: description) }) { send(.untrusted(distrust)) }
    }

    /// Compares a certificate that the other side shows with its description.
    func examine(certificate pem: String) {
        if let distrust = state.withLock({ $0.identity.take(certificate: pem) }) { send(.untrusted(distrust)) }
    }

    func chain(of media: WebRTCPeer.Media) -> ObjectRef<GstElement>? { state.withLock { $0.chains[media] } }

    func traffic(of media: WebRTCPeer.Media) -> WebRTCPeer.Traffic { state.withLock { $0.traffic[media] ?? .init() } }

    /// Counts packets that may pass.
    ///
    /// - Returns: False while the other side has not shown its certificate, or if it is the wrong one.
    func admit(_ packets: Int, bytes: Int, of media: WebRTCPeer.Media) -> Bool {
        let now = MonotonicClock.now()
        return state.withLock { state in
            guard state.identity.verdict == .proven else { return false }
            state.traffic[media, default: .init()].packets += packets
            state.traffic[media, default: .init()].bytes += bytes
            state.traffic[media, default: .init()].last = now
            return true
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

    /// Counts the packets that leave a payloader, and drops those that have no proven receiver.
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
        // Late audio is of no use, and its codec conceals losses. NACK is negotiated for video alone, but
        // `webrtcbin` may have set it for both.
        _ = cgst_ask_again(pad, media == .video ? 1 : 0)
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
    let mayPass = counter.watch.admit(Int(packets), bytes: Int(bytes), of: counter.media)
    return mayPass ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
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
