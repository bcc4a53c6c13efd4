import Foundation
import GStreamerKit
import Synchronization

/// A WebRTC client that plays H.264 and Opus, over any signalling.
final class WebRTCPlayer: Sendable {
    private struct State {
        var offer: String?
        var isConnected = false
        var failure: String?
        var pictures = 0
        var sounds = 0
        var size: [Int] = []
    }
    private final class Shared: Sendable { let state = Mutex(State()) }

    private let peer: WebRTCPeer
    private let shared: Shared

    private static let chains = """
        webrtcbin name=peer bundle-policy=max-bundle latency=200
        rtph264depay name=video ! h264parse ! video/x-h264,stream-format=avc,alignment=au \
        ! appsink name=pictures sync=false async=false
        rtpopusdepay name=audio ! opusdec plc=false ! audioconvert ! audio/x-raw,format=F32LE,channels=2,rate=48000 \
        ! appsink name=sound sync=false async=false
        """

    /// Waits until there is an offer.
    init() async throws {
        let shared = Shared()
        self.shared = shared
        peer = try WebRTCPeer(Self.chains, name: "player") { event in
            shared.state.withLock { state in
                switch event {
                case .described(let text): state.offer = text
                case .candidate, .gathered, .keyframeRequested: break
                case .connection(let connection): state.isConnected = connection == .connected
                case .untrusted: state.failure = "the other side has another certificate"
                case .failed(let reason): state.failure = reason
                }
            }
        }
        try peer.pipeline.appSink("pictures") { sample in
            let size = [sample.capsInteger("width") ?? 0, sample.capsInteger("height") ?? 0]
            shared.state.withLock { state in
                state.pictures += 1
                state.size = size
            }
        }
        try peer.pipeline.appSink("sound") { _ in shared.state.withLock { $0.sounds += 1 } }
        try await peer.play()
        try peer.addReceiver(
            "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1",
            asksAgain: true)
        try peer.addReceiver(
            "application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000", asksAgain: false)
        peer.offer()
        try await waitUntil("the player has an offer") { shared.state.withLock { $0.offer != nil } }
    }

    /// The offer without candidates.
    var offer: String { shared.state.withLock { $0.offer ?? "" } }
    var pictures: Int { shared.state.withLock { $0.pictures } }
    var sounds: Int { shared.state.withLock { $0.sounds } }
    /// Width and height of the latest picture.
    var size: [Int] { shared.state.withLock { $0.size } }

    /// Applies the answer, and returns once there is a connection.
    func accept(_ answer: String) async throws {
        peer.accept(answer)
        try await waitUntil("the player is connected: \(shared.state.withLock { $0.failure ?? "" })") {
            shared.state.withLock { $0.isConnected }
        }
    }

    func stop() async { await peer.tearDown() }
}
