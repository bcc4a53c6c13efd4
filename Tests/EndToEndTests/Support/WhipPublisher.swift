import EncodedMedia
import Foundation
import GStreamerKit
import Synchronization
import WebRTCSupport

@testable import ViewerProbe

/// A WebRTC client that publishes a synthetic source over WHIP like a browser: it encodes at the rate of its camera,
/// with a keyframe at the beginning and at every request.
final class WhipPublisher: Sendable {
    private struct State {
        var peer = PeerState()
        var session: String?
        /// Number of camera pictures so far.
        var pictures = 0
    }
    private final class Shared: Sendable { let state = Mutex(State()) }

    let user: String
    private let peer: WebRTCPeer
    private let camera: ManagedProcess
    private let shared: Shared
    private let service: ServiceClient
    private let room: String
    private let path: LossyPath?

    private static func description(
        _ pipe: String, _ source: SyntheticPublisher, dropping: Double, isRelayed: Bool
    ) -> String {
        // The element drops pictures, as a camera does in poor light.
        let identity = dropping > 0 ? "! identity drop-probability=\(dropping)" : ""
        return """
            webrtcbin name=peer bundle-policy=max-bundle \(isRelayed ? "ice-transport-policy=relay" : "")
            filesrc location=\(pipe) ! matroskademux name=demux
            demux.video_0 ! tee name=pictures pictures. ! queue ! appsink name=seen sync=false async=false drop=true
            pictures. ! queue max-size-bytes=0 max-size-buffers=60 \(identity) ! valve name=camera drop=true \
            ! x264enc name=encoder tune=zerolatency speed-preset=veryfast threads=1 key-int-max=100000 bframes=0 \
            bitrate=\(source.videoBitrate / 1000) ! video/x-h264,profile=constrained-baseline \
            ! rtph264pay config-interval=-1 aggregate-mode=zero-latency \
            ! application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,\
            packetization-mode=(string)1 ! peer.
            demux.audio_0 ! queue max-size-bytes=0 ! valve name=microphone drop=true ! audioconvert ! audioresample \
            ! opusenc bitrate=128000 ! rtpopuspay \
            ! application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000 ! peer.
            """
    }

    /// Prepares the client: its camera runs, and it has an offer.
    ///
    /// - Parameters:
    ///   - dropping: Share of the pictures that the camera drops, 0…1.
    ///   - path: The network between the client and the service; `nil` for none.
    ///   - relay: URL of the TURN server that the client has to use; `nil` for none.
    convenience init(
        _ user: String, _ source: SyntheticPublisher, on stage: Stage, dropping: Double = 0,
        through path: LossyPath? = nil, relay: String? = nil
    ) async throws {
        stage.knows(source)
        try await self.init(
            user, source, in: stage.room, of: stage.client, files: stage.directory, dropping: dropping, through: path,
            relay: relay)
    }

    /// Prepares a client of any service.
    init(
        _ user: String, _ source: SyntheticPublisher, in room: String, of service: ServiceClient, files directory: URL,
        dropping: Double = 0, through path: LossyPath? = nil, relay: String? = nil
    ) async throws {
        self.user = user
        self.room = room
        self.service = service
        self.path = path
        let pipe = directory.appendingPathComponent("\(user)-\(UInt32.random(in: 0 ... .max)).fifo").path
        guard mkfifo(pipe, 0o600) == 0 else { throw EndToEndError("no pipe \(pipe)") }
        camera = try ManagedProcess(
            "camera-\(user)", "ffmpeg", source.rawArguments(path: pipe), in: directory)
        let shared = Shared()
        self.shared = shared
        var network = WebRTCPeer.Network()
        if path != nil || relay != nil { network.addresses = ["127.0.0.1"] }
        network.turn = relay.map { [$0] } ?? []
        peer = try WebRTCPeer(
            Self.description(pipe, source, dropping: dropping, isRelayed: relay != nil), network: network,
            name: "whip-\(user)"
        ) { event in
            shared.state.withLock { $0.peer.note(event) }
        }
        try peer.pipeline.appSink("seen") { _ in shared.state.withLock { $0.pictures += 1 } }
        try await peer.play()
        // Lost packets are retransmitted, as in browsers.
        try peer.sendOnly(2)
        peer.offer()
        try await waitUntil("\(user) has an offer \(camera.messages())") {
            shared.state.withLock { $0.peer.described != nil && $0.peer.isGathered && $0.pictures > 10 }
        }
    }

    /// Candidates of the offer.
    var candidates: [String] { shared.state.withLock { $0.peer.candidates } }

    /// Publishes, and returns once the connection is established and media are sent.
    ///
    /// - Returns: The time at which the offer was posted, in ns of CLOCK_MONOTONIC.
    @discardableResult func publish() async throws -> Int64 {
        // Behind a network, the service learns the client's address from its packets.
        try await publish(namingCandidates: path == nil) { [service, shared, room, user] offer in
            let answer = try await service.post(offer: offer, to: "/whip/\(room)/\(user)")
            shared.state.withLock { $0.session = answer.session }
            return answer.text
        }
    }

    /// Publishes over other signalling than WHIP.
    ///
    /// - Parameters:
    ///   - namesCandidates: Whether the offer contains the client's candidates.
    ///   - exchange: Returns the answer to the offer.
    @discardableResult func publish(
        namingCandidates namesCandidates: Bool, _ exchange: (String) async throws -> String
    ) async throws -> Int64 {
        let offer = shared.state.withLock { $0.peer.description(namingCandidates: namesCandidates) }
        let begin = MonotonicClock.now()
        let answer = try await exchange(offer)
        peer.accept(try path?.lead(answer) ?? answer)
        try await waitUntil(
            "\(user) is connected: \(shared.state.withLock { $0.peer.failure ?? "" })", every: 2
        ) { shared.state.withLock { $0.peer.isConnected } }
        for valve in ["camera", "microphone"] { try peer.pipeline.element(valve).set("drop", to: "false") }
        return begin
    }

    /// Ends the session, like a page that is closed.
    ///
    /// - Parameter other: The service that is asked to end it, if not the one that took the offer.
    /// - Returns: The time of the request, in ns of CLOCK_MONOTONIC.
    @discardableResult func leave(through other: ServiceClient? = nil) async throws -> Int64 {
        let begin = MonotonicClock.now()
        if let session = shared.state.withLock({ $0.session }) {
            let status = try await (other ?? service).request("DELETE", session).status
            guard status == 200 else { throw EndToEndError("DELETE \(session): \(status)") }
        }
        await stop()
        return begin
    }

    /// Ends without closing the session.
    func stop() async {
        camera.kill9()
        await peer.tearDown()
    }
}

extension ServiceClient {
    /// Posts a WebRTC offer.
    ///
    /// - Returns: The answer, and the address of the session.
    func post(offer: String, to path: String) async throws -> (text: String, session: String) {
        let answer = try await request("POST", path, json: offer, headers: ["Content-Type": "application/sdp"])
        guard answer.status == 201, let session = answer.location else {
            throw EndToEndError("POST \(path): \(answer.status) \(answer.text)")
        }
        return (answer.text, session)
    }
}
