import EncodedMedia
import GStreamerKit
import Synchronization
import TestSupport

/// A WebRTC client that receives H.264 and Opus, like a browser over WHEP. It makes an offer, or answers one.
package final class WebRTCViewer: Sendable {
    package struct Picture: Sendable {
        /// The access unit in AVC format.
        package var bytes: [UInt8]
        package var time: MediaTime
        /// Time of arrival in ns of CLOCK_MONOTONIC.
        package var arrival: Int64
        package var isIDR: Bool
    }

    package struct Sound: Sendable {
        package var time: MediaTime
        package var samples: [Float]
    }

    /// The reason that there is no description.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var peer = PeerState()
        var pictures: [Picture] = []
        var sizes: [[Int]] = []
        var sound: [Sound] = []
    }

    private final class Shared: Sendable { let state = Mutex(State()) }

    package let peer: WebRTCPeer
    private let shared = Shared()

    private static let chains = """
        webrtcbin name=peer bundle-policy=max-bundle latency=200
        rtph264depay name=video ! h264parse ! video/x-h264,stream-format=avc,alignment=au \
        ! appsink name=pictures sync=false async=false
        rtpopusdepay name=audio ! opusdec plc=false ! audioconvert ! audio/x-raw,format=F32LE,channels=2,rate=48000 \
        ! appsink name=sound sync=false async=false
        """

    /// - Parameter addresses: Numeric addresses of this machine to use; empty means all but loopback.
    package init(addresses: [String] = ["127.0.0.1"]) async throws {
        var network = WebRTCPeer.Network()
        network.addresses = addresses
        peer = try WebRTCPeer(Self.chains, network: network, name: "viewer") { [shared] event in
            shared.state.withLock { $0.peer.note(event) }
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

    /// Returns an offer to receive.
    ///
    /// - Parameter namesCandidates: Whether the offer contains the client's candidates.
    package func offer(
        hasVideo: Bool = true, hasAudio: Bool = true, namingCandidates namesCandidates: Bool = true
    ) async throws -> String {
        if hasVideo { try peer.addReceiver(Self.h264, asksAgain: true) }
        if hasAudio { try peer.addReceiver(Self.opus, asksAgain: false) }
        peer.offer()
        return try await description(namingCandidates: namesCandidates)
    }

    /// Returns the answer to an offer, with candidates.
    package func answer(_ offer: String) async throws -> String {
        try peer.addReceiver(Self.h264, asksAgain: true)
        try peer.addReceiver(Self.opus, asksAgain: false)
        peer.answer(offer)
        return try await description(namingCandidates: true)
    }

    private func description(namingCandidates namesCandidates: Bool) async throws -> String {
        let found = try await poll(within: .seconds(120), every: .milliseconds(20)) { () async throws -> String? in
            let state = shared.state.withLock { $0.peer }
            if let failure = state.failure { throw Failure(description: "the viewer: \(failure)") }
            let isReady = state.described != nil && (state.isGathered || !namesCandidates)
            return isReady ? state.description(namingCandidates: namesCandidates) : nil
        }
        guard let found else { throw Failure(description: "the viewer gathers no candidates") }
        return found
    }

    package var failure: String? { shared.state.withLock { $0.peer.failure } }
    package var isConnected: Bool { shared.state.withLock { $0.peer.isConnected } }
    package var pictures: [Picture] { shared.state.withLock { $0.pictures } }
    /// Sizes of the pictures, one entry per change.
    package var sizes: [[Int]] { shared.state.withLock { $0.sizes } }
    package var sound: [Sound] { shared.state.withLock { $0.sound } }

    package func stop() async { await peer.tearDown() }
}
