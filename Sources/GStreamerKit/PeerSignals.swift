import CGStreamer
import Synchronization

/// The signal handlers of a `webrtcbin`, and their removal. If they stay connected, they keep the connection's threads
/// and descriptors alive.
final class PeerSignals: Sendable {
    private let peer: ObjectRef<GstElement>
    private let handlers = Mutex<[gulong]>([])

    init(of peer: ObjectRef<GstElement>, _ watch: PeerWatch) {
        self.peer = peer
        let candidate: @convention(c) (gpointer?, guint, UnsafePointer<CChar>?, gpointer?) -> Void = onCandidate
        let pad: @convention(c) (gpointer?, UnsafeMutablePointer<GstPad>?, gpointer?) -> Void = onPadAdded
        let element: @convention(c) (gpointer?, gpointer?, UnsafeMutablePointer<GstElement>?, gpointer?) -> Void =
            onElementAdded
        let change: @convention(c) (UnsafeMutablePointer<GstElement>?, gpointer?, gpointer?) -> Void = onChange
        connect("on-ice-candidate", unsafeBitCast(candidate, to: GCallback.self), watch)
        connect("pad-added", unsafeBitCast(pad, to: GCallback.self), watch)
        connect("deep-element-added", unsafeBitCast(element, to: GCallback.self), watch)
        connect("notify::connection-state", unsafeBitCast(change, to: GCallback.self), watch)
        connect("notify::ice-gathering-state", unsafeBitCast(change, to: GCallback.self), watch)
    }

    private func connect(_ signal: String, _ callback: @escaping GCallback, _ watch: PeerWatch) {
        let handler = g_signal_connect_data(
            peer.pointer, signal, callback, CallbackBox.retain(watch), releaseSignalBox, GConnectFlags(rawValue: 0))
        handlers.withLock { $0.append(handler) }
    }

    /// Disconnects and releases the handlers. Idempotent.
    func disconnect() {
        let connected = handlers.withLock { handlers in
            defer { handlers = [] }
            return handlers
        }
        for handler in connected { g_signal_handler_disconnect(peer.pointer, handler) }
    }
}

private func releaseSignalBox(_ data: gpointer?, _ closure: UnsafeMutablePointer<GClosure>?) { releaseBox(data) }

private func onCandidate(_ peer: gpointer?, _ section: guint, _ text: UnsafePointer<CChar>?, _ data: gpointer?) {
    guard let text, let watch = CallbackBox<PeerWatch>.peek(data) else { return }
    watch.send(.candidate(section: Int(section), String(cString: text)))
}

private func onPadAdded(_ peer: gpointer?, _ pad: UnsafeMutablePointer<GstPad>?, _ data: gpointer?) {
    guard let pad else { return }
    CallbackBox<PeerWatch>.peek(data)?.link(pad)
}

/// RTCP bandwidth of a session in bytes/s. The default assumes 64 kbit/s, so that requests for lost packets and
/// keyframes wait, or are dropped.
private let sessionBandwidth = 10_000_000.0

private func onElementAdded(
    _ bin: gpointer?, _ part: gpointer?, _ element: UnsafeMutablePointer<GstElement>?, _ data: gpointer?
) {
    guard let element, let watch = CallbackBox<PeerWatch>.peek(data) else { return }
    if cgst_is_made_by(element, "rtpjitterbuffer") != 0 {
        // Without this, the first packet waits for the whole latency.
        cgst_set_unsigned(element, "faststart-min-packets", 1)
    } else if cgst_is_made_by(element, "rtpsession") != 0 {
        cgst_set_double(element, "bandwidth", sessionBandwidth)
        // Otherwise a receiver sees the same offset between audio and video as on the way here.
        cgst_set_boolean(element, "rtcp-sync-send-time", 0)
    } else if cgst_is_made_by(element, "clocksync") != 0 {
        // The media are already live, and must not wait because their clock and this one differ.
        cgst_set_boolean(element, "sync", 0)
    } else if cgst_is_made_by(element, "nicesrc") != 0 {
        watch.listen(to: element)
    } else if cgst_is_made_by(element, "dtlsdec") != 0 {
        // It accepts every certificate.
        let change: @convention(c) (UnsafeMutablePointer<GstElement>?, gpointer?, gpointer?) -> Void = onCertificate
        g_signal_connect_data(
            element, "notify::peer-pem", unsafeBitCast(change, to: GCallback.self), CallbackBox.retain(watch),
            releaseSignalBox, GConnectFlags(rawValue: 0))
    }
}

/// Called during the handshake, before the element has keys for media, on its thread.
private func onCertificate(_ decoder: UnsafeMutablePointer<GstElement>?, _ property: gpointer?, _ data: gpointer?) {
    guard let decoder, let watch = CallbackBox<PeerWatch>.peek(data),
        let pem = consumingText(of: cgst_property_text(decoder, "peer-pem"))
    else { return }
    watch.examine(certificate: pem)
}

private func onChange(_ peer: UnsafeMutablePointer<GstElement>?, _ property: gpointer?, _ data: gpointer?) {
    guard let peer, let watch = CallbackBox<PeerWatch>.peek(data) else { return }
    let spec = property?.assumingMemoryBound(to: GParamSpec.self)
    let name = spec.map { String(cString: $0.pointee.name) }
    if name == "ice-gathering-state" {
        // GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE
        if cgst_enum_property(peer, "ice-gathering-state") == 2 { watch.send(.gathered) }
    } else if let state = WebRTCPeer.Connection(rawValue: Int(cgst_enum_property(peer, "connection-state"))) {
        watch.send(.connection(state))
    }
}
