import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import RTMP

/// A connection that sends one stream: H.264 and Opus, both unchanged.
///
/// It answers an offer, or makes one. Either description contains all candidates. Media may be pushed once it is
/// connected; earlier media is dropped.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there, except
/// `close()`. Blocking work runs on its own queue.
package final class WebRTCSender: @unchecked Sendable {
    package enum Event: Hashable, Sendable {
        /// The offer or the answer for the peer.
        case described(String)
        case connected
        /// The peer needs a keyframe (PLI or FIR).
        case keyframeRequested
        /// The connection has ended, or could not be made. The last event; the text contains the cure and no secrets.
        case ended(String)
    }

    /// Payload types of the sent formats; `nil` for a track that is not sent.
    package struct Formats: Hashable, Sendable {
        package var video: Int?
        package var audio: Int?

        package init(video: Int?, audio: Int?) {
            self.video = video
            self.audio = audio
        }
    }

    package struct Figures: Hashable, Sendable {
        /// Number of media packets sent, without retransmissions.
        package var packets = 0
        /// Number of packets that the peer requested again.
        package var lost = 0
    }

    /// Number of bytes of pictures that may wait for packetization; see `isBehind`.
    private static let longestBacklog = 1 << 20
    /// Time in ns after which a burst must have been sent.
    private static let longestBurst: Int64 = 1_000_000_000
    /// Pipeline time of the first frame: others may be slightly earlier.
    private static let start = MediaTime.seconds(1)

    private let loop = SocketLoop.shared
    private let queue = DispatchQueue(label: "webrtc.sender")
    private let formats: Formats
    private let network: WebRTCNetwork
    private let name: String
    private let onEvent: (Event) -> Void
    private let ticker = LoopDeadline()

    private var opening: Task<Void, Never>?
    private var peer: WebRTCPeer?
    private var pictures: AppSource?
    private var sound: AppSource?
    private var description: LocalDescription?
    /// Section of the peer's description whose transport is used.
    private var section = 0
    private var remoteCandidates = RemoteCandidates()
    private var isConnected = false
    private var isOver = false
    private var burstUntil: Int64 = 0
    /// Stream time of the pipeline's time 0.
    private var origin: MediaTime?

    /// - Parameters:
    ///   - name: Name in GStreamer's logs.
    ///   - onEvent: Called on the loop, never from within a method.
    package init(_ formats: Formats, network: WebRTCNetwork, name: String, onEvent: @escaping (Event) -> Void) {
        self.formats = formats
        self.network = network
        self.name = name
        self.onEvent = onEvent
    }

    /// Answers an offer; `described` or `ended` follows.
    ///
    /// - Parameters:
    ///   - offer: The parsed offer, and its text.
    ///   - video: The format of the offer to send, with the payload type of `formats`.
    func answer(_ offer: WebRTCOffer, _ text: String, video: WebRTCOffer.Track?, audio: WebRTCOffer.Track?) {
        let answer = WebRTCAnswer(to: offer, video: video, audio: audio, network: network)
        section = offer.sectionOfTransport
        let taken = [video?.section, audio?.section]
        let others = offer.sections.indices.filter { place in
            !taken.contains(place) && offer.sections[place].kind != .application
        }.map { "application/x-rtp,media=(string)\(offer.sections[$0].kind.rawValue)" }
        open(
            LocalDescription(network: network) { answer.text(of: $0, $1) },
            // Reserves the sections' places; the answer rejects them.
            prepare: { peer throws(GStreamerError) in
                for caps in others { try peer.addReceiver(caps, asksAgain: false) }
            },
            begin: { $0.answer(offer.completed(text)) })
    }

    /// Creates an offer; `described` or `ended` follows. Pass its answer to `accept(_:)`.
    package func offer() {
        let candidates = LocalCandidates(network: network)
        open(
            LocalDescription(network: network) { candidates.insert($1, into: $0) },
            prepare: { _ in }, begin: { $0.offer() })
    }

    package func accept(_ answer: String) {
        // Answers are read like offers. `webrtcbin` says what is wrong with one that cannot be read.
        peer?.accept((try? WebRTCOffer(answer))?.completed(answer, isAnswer: true) ?? answer)
    }

    /// Adds candidates of the peer. Those beyond the limit are ignored.
    package func addCandidates(_ fragment: String) {
        for candidate in remoteCandidates.take(fragment) { peer?.addCandidate(candidate, section: section) }
    }

    /// Sends a picture: an access unit as a byte stream, with its parameter sets if it is an IDR.
    ///
    /// - Parameter time: Presentation time on a timeline that pictures and audio share.
    package func push(picture bytes: [UInt8], at time: MediaTime, isIDR: Bool) {
        guard isConnected, let pictures, let place = place(of: time) else { return }
        pictures.push(bytes: bytes, pts: place, isDelta: !isIDR)
    }

    package func push(_ packet: OpusTranscoder.Packet) {
        guard isConnected, let sound, let place = place(of: packet.time) else { return }
        sound.push(bytes: packet.bytes, pts: place, duration: UInt64(OpusTranscoder.duration.nanoseconds))
    }

    /// Returns whether pushed media is not sent as fast as it arrives: no more should be pushed before the next IDR.
    package func isBehind(now: Int64) -> Bool {
        guard now >= burstUntil, let pictures else { return false }
        return pictures.queuedBytes > Self.longestBacklog
    }

    /// Records that a group of pictures is pushed at once.
    package func beginBurst(now: Int64) { burstUntil = now.saturatingSum(Self.longestBurst) }

    /// Arrival of the peer's last packet, including reports, in ns of CLOCK_MONOTONIC.
    package var lastHeard: Int64? { peer?.lastHeard }

    package var figures: Figures {
        guard let peer else { return Figures() }
        let packets = WebRTCPeer.Media.allCases.reduce(0) { $0 + peer.traffic(of: $1).packets }
        return Figures(packets: packets, lost: peer.repeatedPackets)
    }

    /// Ends the connection and frees everything, without an event. Call from any thread, once.
    package func close() async {
        let opening = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                isOver = true
                ticker.end()
                continuation.resume(returning: self.opening)
            }
        }
        await opening?.value
        let peer = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                defer { (self.peer, pictures, sound) = (nil, nil, nil) }
                continuation.resume(returning: self.peer)
            }
        }
        await peer?.tearDown()
    }

    // MARK: - On the loop

    private func place(of time: MediaTime) -> UInt64? {
        let origin = origin ?? time - Self.start
        self.origin = origin
        let place = time - origin
        return place >= .zero ? UInt64(place.nanoseconds) : nil
    }

    private func open(
        _ description: LocalDescription,
        prepare: @escaping @Sendable (WebRTCPeer) throws(GStreamerError) -> Void,
        begin: @escaping @Sendable (WebRTCPeer) -> Void
    ) {
        guard opening == nil, !isOver else { return }
        self.description = description
        ticker.begin { [weak self] in self?.tick() }
        ticker.set(MonotonicClock.now() + Self.interval)
        opening = Task { [weak self] in await self?.connect(prepare, begin) }
    }

    /// Time in ns between two checks of the description and the pipeline.
    private static let interval: Int64 = 50_000_000

    private func tick() {
        guard !isOver else { return }
        ticker.set(MonotonicClock.now() + Self.interval)
        tell()
        if let failure = peer?.pipeline.firstError { end("The media cannot be sent: \(failure.message)") }
    }

    private func connect(
        _ prepare: @escaping @Sendable (WebRTCPeer) throws(GStreamerError) -> Void,
        _ begin: @escaping @Sendable (WebRTCPeer) -> Void
    ) async {
        do {
            let peer = try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in continuation.resume(with: Result { try makePeer() }) }
            }
            do {
                try await peer.play()
                try peer.sendOnly([formats.video, formats.audio].compactMap { $0 }.count)
                try prepare(peer)
            } catch {
                await peer.tearDown()
                throw error
            }
            loop.perform { [self] in
                self.peer = peer
                pictures = try? peer.pipeline.appSource(WebRTCSending.pictures)
                sound = try? peer.pipeline.appSource(WebRTCSending.sound)
                begin(peer)
            }
        } catch {
            let words = "\(error)"
            loop.perform { [self] in end("This machine cannot send WebRTC: \(words)") }
        }
    }

    /// Creates the peer. Blocks.
    private func makePeer() throws(GStreamerError) -> WebRTCPeer {
        try WebRTCPeer(
            WebRTCSending.description(of: formats), network: WebRTCPeer.Network(network), name: name
        ) { [weak self, loop] event in
            loop.perform { [weak self] in self?.take(event) }
        }
    }

    private func take(_ event: WebRTCPeer.Event) {
        guard !isOver else { return }
        description?.take(event, now: MonotonicClock.now())
        switch event {
        case .described:
            for candidate in remoteCandidates.described() { peer?.addCandidate(candidate, section: section) }
        case .candidate: break
        case .gathered: tell()
        case .connection(.connected):
            guard !isConnected else { break }
            isConnected = true
            onEvent(.connected)
        case .connection(.failed):
            end(
                isConnected
                    ? "the connection is lost"
                    : "no connection could be made: can the other side reach this machine's UDP ports?")
        case .connection(.closed): end("the other side closed the connection")
        case .connection: break
        case .untrusted(let distrust): end(distrust.words(of: "the other side", "session description"))
        case .keyframeRequested: onEvent(.keyframeRequested)
        case .failed(let reason): end("The session description cannot be taken: \(reason)")
        }
    }

    private func tell() {
        switch description?.outcome(now: MonotonicClock.now()) {
        case .ready(let text): onEvent(.described(text))
        case .noAddress: end(LocalDescription.Outcome.words)
        case nil: break
        }
    }

    private func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        ticker.end()
        onEvent(.ended(reason))
    }
}
