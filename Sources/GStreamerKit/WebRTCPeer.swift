import CGStreamer
import Synchronization

/// A WebRTC connection: a pipeline with a `webrtcbin` that sends or receives media.
///
/// The pipeline's description has the element `webrtcbin name=peer` and, for each kind of media that is received, a
/// chain whose first element is called `video` or `audio`. A receiving chain is linked when the first packet of its
/// media arrives. A sending chain is linked to the element in the description, and has a payloader called
/// `payloader-video` or `payloader-audio`.
///
/// No media pass in either direction before the other side has shown a certificate that its description names
/// (`a=fingerprint`, RFC 8122 §5), which `webrtcbin` does not check.
///
/// Usable from any thread. Events come from threads of the connection, one after another, also while a method runs;
/// the receiver must return at once and must not tear down the peer from there. The owner tears it down.
public final class WebRTCPeer: Sendable {
    public enum Event: Hashable, Sendable {
        /// The local description is in force. Candidates follow, each in its own event.
        case described(String)
        /// A local candidate, for the media section of this index.
        case candidate(section: Int, String)
        /// No further candidate follows.
        case gathered
        /// The state has changed. `connected` comes only with a certificate that the other side's description names.
        case connection(Connection)
        /// The other side has not proven to be the sender of its description. No media pass any more, and the owner
        /// should tear down the peer.
        case untrusted(Distrust)
        /// The other side needs a keyframe (PLI or FIR).
        case keyframeRequested
        /// A description could not be created or applied. The reason is GStreamer's.
        case failed(String)
    }

    /// The reason why the other side counts as another one than the sender of its description.
    public enum Distrust: Hashable, Sendable {
        /// Its description does not name the certificate that it has shown.
        case otherCertificate
        /// Its certificate is too large to be compared: GStreamer gives at most about 2980 bytes of it.
        case largeCertificate
        /// No certificate was shown: the peer has resumed a DTLS session, or closed it before the handshake was complete.
        case noCertificate
    }

    /// State of the connection (W3C WebRTC 1.0, `RTCPeerConnectionState`). If the other side vanishes, the state stays
    /// `connected`.
    public enum Connection: Int, Hashable, Sendable {
        case new, connecting, connected, disconnected, failed, closed
    }

    /// The kinds of media, by the names of their chains.
    public enum Media: String, Hashable, Sendable, CaseIterable {
        case audio, video
    }

    /// Packets output by the jitter buffer, or by the payloader.
    public struct Traffic: Hashable, Sendable {
        public var packets = 0
        public var bytes = 0
        /// Time of the last packet in ns of CLOCK_MONOTONIC; `nil` before the first one.
        public var last: Int64?
    }

    /// Addresses, ports and servers that the connection uses to find paths.
    public struct Network: Hashable, Sendable {
        /// Numeric addresses of this machine to use; empty means all but loopback.
        public var addresses: [String] = []
        /// Lowest and highest UDP port; `nil` leaves them to the system.
        public var ports: ClosedRange<Int>?
        /// URL of a STUN server: `stun://host:port`.
        public var stun: String?
        /// URLs of TURN servers: `turn://user:password@host:port`.
        public var turn: [String] = []

        public init() {}
    }

    /// Name and password of one side of ICE (RFC 8839 §5.4).
    public struct ICECredentials: Hashable, Sendable {
        public var name: String
        public var password: String

        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    public let pipeline: Pipeline
    private let peer: ObjectRef<GstElement>
    private let watch: PeerWatch
    private let signals: PeerSignals

    /// - Parameters:
    ///   - description: The description, as for `Pipeline`, with `webrtcbin name=peer`.
    ///   - name: Name in GStreamer's logs.
    public init(
        _ description: String, network: Network = Network(), name: String,
        onEvent: @escaping @Sendable (Event) -> Void
    ) throws(GStreamerError) {
        pipeline = try Pipeline(description, name: name)
        peer = try pipeline.element("peer").reference
        guard
            cgst_configure_agent(
                peer.pointer, UInt32(clamping: network.ports?.lowerBound ?? 0),
                UInt32(clamping: network.ports?.upperBound ?? 0)) != 0
        else { throw GStreamerError(.missingElement, "\(name): \(MissingElement(name: "nicesrc"))") }
        for address in network.addresses where cgst_add_local_address(peer.pointer, address) == 0 {
            throw GStreamerError(.resource, "\(name): \(address) is not an address of this machine")
        }
        if let stun = network.stun { try pipeline.element("peer").set("stun-server", to: stun) }
        for turn in network.turn where cgst_add_turn_server(peer.pointer, turn) == 0 {
            throw GStreamerError(.syntax, "\(name): a TURN server has no valid URL: use turn://user:password@host:port")
        }
        var chains: [Media: ObjectRef<GstElement>] = [:]
        for media in Media.allCases { chains[media] = try? pipeline.element(media.rawValue).reference }
        watch = PeerWatch(chains: chains, onEvent: onEvent)
        for media in Media.allCases {
            guard let payloader = try? pipeline.element("payloader-\(media)").reference else { continue }
            watch.count(packetsOf: payloader, media)
            if media == .video { watch.takeKeyframeRequests(to: payloader) }
        }
        signals = PeerSignals(of: peer, watch)
    }

    deinit { signals.disconnect() }

    /// Starts the pipeline, and with it the connection's threads. Call before any of the following methods.
    public func play() async throws(GStreamerError) { try await pipeline.play() }

    /// Ends the connection, joins its threads and frees it. No event comes afterwards. Idempotent.
    public func tearDown() async {
        watch.silence()
        signals.disconnect()
        await pipeline.tearDown()
        watch.release()
    }

    /// Prepares to receive the next media section of the offer that follows: call once for each, in order, before
    /// `answer(_:)`. Later calls have no effect.
    ///
    /// - Parameters:
    ///   - caps: Caps `application/x-rtp` of the accepted format.
    ///   - asksAgain: Whether to request retransmission of lost packets (NACK, and RTX if offered).
    /// - Throws: `GStreamerError` if the caps cannot be read (`.syntax`), or `webrtcbin` takes no receiver (`.resource`).
    public func addReceiver(_ caps: String, asksAgain: Bool) throws(GStreamerError) {
        guard let parsed = gst_caps_from_string(caps) else {
            throw GStreamerError(.syntax, "\(pipeline.name): '\(caps)' is not a valid caps string")
        }
        defer { cgst_caps_unref(parsed) }
        guard cgst_add_receiver(peer.pointer, parsed, asksAgain ? 1 : 0) != 0 else {
            throw GStreamerError(.resource, "\(pipeline.name): no receiver can be added")
        }
    }

    /// Makes the chains that are linked to the peer send-only, with retransmission of lost packets on request (NACK,
    /// and RTX if offered): call before `answer(_:)` or `offer()`.
    ///
    /// - Parameter count: Number of those chains.
    /// - Throws: `GStreamerError` (`.resource`) if there are fewer chains.
    public func sendOnly(_ count: Int) throws(GStreamerError) {
        for place in 0..<count where cgst_send_only(peer.pointer, Int32(clamping: place)) == 0 {
            throw GStreamerError(.resource, "\(pipeline.name): no sender can be added")
        }
    }

    /// Applies the remote offer and creates an answer. `described` delivers it, or `failed` follows.
    public func answer(_ offer: String) {
        watch.expect(offer)
        Negotiation(peer, watch, sets: CGST_OFFER, makes: CGST_ANSWER).begin(with: offer)
    }

    /// Creates an offer for the media that the pipeline sends. `described` delivers it.
    public func offer() {
        Negotiation(peer, watch, sets: nil, makes: CGST_OFFER).create()
    }

    /// Applies the answer to `offer()`.
    public func accept(_ answer: String) {
        watch.expect(answer)
        Negotiation(peer, watch, sets: CGST_ANSWER, makes: nil).begin(with: answer)
    }

    /// Adds a remote candidate, in the notation of `a=candidate`. Unresolved names are ignored.
    public func addCandidate(_ candidate: String, section: Int) {
        cgst_add_candidate(peer.pointer, UInt32(clamping: section), candidate)
    }

    /// Restarts ICE on this side, for a path over another network: follow with `setRemoteICE(_:)` and the candidates of
    /// the other side. DTLS and media continue. All media have to share one transport.
    ///
    /// - Returns: The new credentials of this side, whose candidates stay as they are; `nil` if the connection has no
    ///   transport yet, or the ICE library is another one than libnice.
    public func restartICE() -> ICECredentials? {
        var ownName: UnsafeMutablePointer<CChar>?
        var ownPassword: UnsafeMutablePointer<CChar>?
        let isDone = cgst_restart_ice(peer.pointer, &ownName, &ownPassword) != 0
        let texts = (consumingText(of: ownName), consumingText(of: ownPassword))
        guard isDone, let name = texts.0, let password = texts.1 else { return nil }
        return ICECredentials(name: name, password: password)
    }

    /// Sets the other side's credentials of an ICE restart. Returns whether they were taken.
    public func setRemoteICE(_ credentials: ICECredentials) -> Bool {
        cgst_set_remote_ice(peer.pointer, credentials.name, credentials.password) != 0
    }

    /// Asks the sender for a keyframe (PLI). Does nothing before video has arrived.
    public func requestKeyframe() {
        guard let chain = watch.chain(of: .video) else { return }
        _ = cgst_request_keyframe(chain.pointer, "sink")
    }

    public func traffic(of media: Media) -> Traffic { watch.traffic(of: media) }

    /// Arrival in ns of CLOCK_MONOTONIC of the last media or RTCP packet; `nil` before the first one.
    public var lastHeard: Int64? { watch.lastHeard }

    /// Number of packets that were retransmitted at the request of the other side.
    public var repeatedPackets: Int {
        Int(clamping: cgst_sum_of_statistics(peer.pointer, "rtpsession", "recv-nack-count"))
    }

    /// Number of packets that never arrived, even after a retransmission request.
    public var lostPackets: Int {
        Int(clamping: cgst_sum_of_statistics(peer.pointer, "rtpjitterbuffer", "num-lost"))
    }
}
