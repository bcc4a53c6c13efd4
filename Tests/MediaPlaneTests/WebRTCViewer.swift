import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization
import TestSupport
import Testing

/// A WebRTC client that receives H.264 and Opus, like a browser over WHEP. It makes an offer, or answers one.
final class WebRTCViewer: Sendable {
    struct Picture: Sendable {
        /// The access unit in AVC format.
        var bytes: [UInt8]
        var time: MediaTime
        var arrival: Int64
        var isIDR: Bool

        /// The access unit without parameter sets and delimiters.
        var unit: [UInt8] { WhipClient.pictureParts(bytes) }
    }

    struct Sound: Sendable {
        var time: MediaTime
        var samples: [Float]
    }

    private struct State {
        var described: String?
        var candidates: [String] = []
        var isGathered = false
        var isConnected = false
        var failure: String?
        var pictures: [Picture] = []
        var sizes: [[Int]] = []
        var sound: [Sound] = []
    }

    private final class Shared: Sendable { let state = Mutex(State()) }

    let peer: WebRTCPeer
    private let shared = Shared()

    private static let chains = """
        webrtcbin name=peer bundle-policy=max-bundle latency=200
        rtph264depay name=video ! h264parse ! video/x-h264,stream-format=avc,alignment=au \
        ! appsink name=pictures sync=false async=false
        rtpopusdepay name=audio ! opusdec plc=false ! audioconvert ! audio/x-raw,format=F32LE,channels=2,rate=48000 \
        ! appsink name=sound sync=false async=false
        """

    init() async throws {
        var network = WebRTCPeer.Network()
        network.addresses = ["127.0.0.1"]
        peer = try WebRTCPeer(Self.chains, network: network, name: "viewer") { [shared] event in
            shared.state.withLock { state in
                switch event {
                case .described(let text): state.described = text
                case .candidate(_, let text): state.candidates.append(text)
                case .gathered: state.isGathered = true
                case .connection(let connection): state.isConnected = connection == .connected
                case .untrusted: state.failure = "the other side has another certificate"
                case .keyframeRequested: break
                case .failed(let reason): state.failure = reason
                }
            }
        }
        try peer.pipeline.appSink("pictures") { [shared] sample in
            let picture = Picture(
                bytes: sample.bytes, time: MediaTime(nanoseconds: sample.runningTime ?? 0),
                arrival: MonotonicClock.now(), isIDR: !sample.isDelta)
            let size = [sample.capsInteger("width") ?? 0, sample.capsInteger("height") ?? 0]
            shared.state.withLock { state in
                state.pictures.append(picture)
                if state.sizes.last != size { state.sizes.append(size) }
            }
        }
        try peer.pipeline.appSink("sound") { [shared] sample in
            let sound = Sound(
                time: MediaTime(nanoseconds: sample.runningTime ?? 0),
                samples: sample.withBytes { Array($0.bindMemory(to: Float.self)) })
            shared.state.withLock { $0.sound.append(sound) }
        }
        try await peer.play()
    }

    private static let h264 =
        "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1"
    private static let opus = "application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000"

    /// Returns an offer to receive, with candidates.
    func offer(hasVideo: Bool = true, hasAudio: Bool = true) async throws -> String {
        if hasVideo { try peer.addReceiver(Self.h264, asksAgain: true) }
        if hasAudio { try peer.addReceiver(Self.opus, asksAgain: false) }
        peer.offer()
        return try await description()
    }

    /// Returns the answer to an offer.
    func answer(_ offer: String) async throws -> String {
        try peer.addReceiver(Self.h264, asksAgain: true)
        try peer.addReceiver(Self.opus, asksAgain: false)
        peer.answer(offer)
        return try await description()
    }

    private func description() async throws -> String {
        let isReady = try await outputEventually { [shared] in
            shared.state.withLock { $0.described != nil && $0.isGathered || $0.failure != nil }
        }
        if !isReady { Issue.record("the viewer gathers no candidates") }
        return shared.state.withLock { state in
            (state.described ?? "") + state.candidates.map { "a=\($0)\r\n" }.joined()
        }
    }

    var failure: String? { shared.state.withLock { $0.failure } }
    var isConnected: Bool { shared.state.withLock { $0.isConnected } }
    var pictures: [Picture] { shared.state.withLock { $0.pictures } }
    /// Sizes of the pictures, one entry per change.
    var sizes: [[Int]] { shared.state.withLock { $0.sizes } }
    var sound: [Sound] { shared.state.withLock { $0.sound } }

    func stop() async { await peer.tearDown() }
}
