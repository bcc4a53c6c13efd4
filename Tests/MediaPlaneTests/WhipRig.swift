import ChildProcesses
import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import Synchronization
import TestSupport
import Testing
import TextFormats
import WebRTCSupport

@testable import RTMP

/// A real `mixworker whip`, and the service that controls it.
typealias WhipRig = WorkerRig<WebRTCCommand, WebRTCReport>

extension WorkerRig where Command == WebRTCCommand, Report == WebRTCReport {
    /// Returns when the worker has sent its hello.
    static func start(orphanTimeout: Double = 60) async throws -> WhipRig {
        let rig = try await WhipRig(.whip, orphanTimeout: orphanTimeout)
        rig.send(.hello(version: WebRTCCommand.version))
        #expect(
            try await outputEventually { rig.reports.contains { if case .hello = $0 { true } else { false } } },
            "\(rig.log)")
        return rig
    }

    var answer: String? { first { if case .answered(let text) = $0 { text } else { nil } } }
    var refusal: String? { first { if case .refused(let reason) = $0 { reason } else { nil } } }
    var end: String? { first { if case .ended(let reason, _) = $0 { reason } else { nil } } }
    var isConnected: Bool { reports.contains(.connected) }
    /// The answers to ICE restarts.
    var restarts: [String] {
        reports.compactMap { if case .restarted(let fragment) = $0 { fragment } else { nil } }
    }
    var figures: WebRTCFigures? {
        reports.lazy.compactMap { if case .figures(let figures) = $0 { figures } else { nil } }.last
    }
}

/// A WebRTC client that publishes H.264 and Opus, like a browser: no keyframe except on request.
final class WhipClient: Sendable {
    private struct State {
        var peer = PeerState()
        /// The access units sent so far, as AVC: their pictures and SEI messages.
        var sent: [[UInt8]] = []
        /// Time at which each left the encoder, in ns of CLOCK_MONOTONIC.
        var sentAt: [Int64] = []
    }

    let peer: WebRTCPeer
    private let state: Shared

    private final class Shared: Sendable { let state = Mutex(State()) }

    private static func description(hasAudio: Bool) -> String {
        """
        webrtcbin name=peer bundle-policy=max-bundle
        videotestsrc is-live=true pattern=ball ! capsfilter name=size caps=video/x-raw,width=320,height=240,framerate=30/1 \
        ! valve name=camera drop=true ! x264enc name=encoder tune=zerolatency speed-preset=ultrafast key-int-max=100000 bitrate=500 bframes=0 \
        ! video/x-h264,profile=constrained-baseline ! h264parse ! tee name=encoded
        encoded. ! queue ! video/x-h264,stream-format=avc,alignment=au ! appsink name=sent sync=false async=false
        encoded. ! queue ! rtph264pay config-interval=-1 aggregate-mode=zero-latency \
        ! application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1 ! peer.
        """
            + (hasAudio
                ? """

                audiotestsrc is-live=true ! audio/x-raw,rate=48000,channels=2 ! valve name=microphone drop=true ! opusenc ! rtpopuspay \
                ! application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000 ! peer.
                """ : "")
    }

    /// Waits until there is an offer with candidates.
    ///
    /// - Parameter address: The address of this machine that it uses.
    init(hasAudio: Bool = true, address: String = "127.0.0.1") async throws {
        let shared = Shared()
        state = shared
        var network = WebRTCPeer.Network()
        network.addresses = [address]
        peer = try WebRTCPeer(Self.description(hasAudio: hasAudio), network: network, name: "client") { event in
            shared.state.withLock { $0.peer.note(event) }
        }
        try peer.pipeline.appSink("sent") { sample in
            let bytes = Self.pictureParts(sample.bytes)
            shared.state.withLock { state in
                state.sent.append(bytes)
                state.sentAt.append(MonotonicClock.now())
            }
        }
        try await peer.play()
        peer.offer()
        let isReady = try await outputEventually {
            shared.state.withLock { $0.peer.described != nil && $0.peer.isGathered }
        }
        if !isReady { Issue.record("the client makes no offer: \(failure ?? "it does not say why")") }
    }

    /// The offer with its candidates.
    var offer: String { state.state.withLock { $0.peer.description() } }
    /// Returns a description that names another certificate.
    static func withOtherFingerprint(_ description: String) -> String {
        description.split(separator: "\r\n", omittingEmptySubsequences: false).map { line in
            guard line.hasPrefix("a=fingerprint:") else { return String(line) }
            return String(line.dropLast()) + (line.hasSuffix("0") ? "1" : "0")
        }.joined(separator: "\r\n")
    }

    var candidates: [String] { state.state.withLock { $0.peer.candidates } }
    var failure: String? { state.state.withLock { $0.peer.failure } }
    var isConnected: Bool { state.state.withLock { $0.peer.isConnected } }
    var sent: [[UInt8]] { state.state.withLock { $0.sent } }

    /// Returns the time in ms from the encoder to the viewer for each picture that has arrived there.
    func delays(to viewer: WebRTCViewer) -> [Double] {
        let arrivals = Dictionary(viewer.pictures.map { ($0.unit, $0.arrival) }) { first, _ in first }
        return state.state.withLock { state in
            zip(state.sent, state.sentAt).compactMap { unit, at in
                arrivals[unit].map { Double($0 - at) / 1e6 }
            }
        }
    }

    /// Removes parameter sets, which AVC has in its configuration, and delimiters: that of the first keyframe is in a
    /// packet before it, which a receiver that waits for a keyframe drops.
    static func pictureParts(_ unit: [UInt8]) -> [UInt8] {
        var (kept, rest): ([UInt8], ArraySlice<UInt8>) = ([], unit[...])
        while rest.count > 4 {
            let size = 4 + rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let piece = rest.prefix(size)
            let kind = piece[piece.startIndex + 4] & 31
            if !(7...9 ~= kind) { kept += piece }
            rest = rest.dropFirst(size)
        }
        return kept
    }

    /// Begins to send. As in browsers, encoding starts only once there is a connection.
    func begin() {
        for valve in ["camera", "microphone"] { try? peer.pipeline.element(valve).set("drop", to: "false") }
    }

    func resize(_ width: Int, _ height: Int) throws {
        try peer.pipeline.element("size").set(
            "caps", to: "video/x-raw,width=\(width),height=\(height),framerate=30/1")
    }

    func stop() async { await peer.tearDown() }
}

extension WebRTCViewer.Picture {
    /// The access unit in the form of `WhipClient.sent`.
    var unit: [UInt8] { WhipClient.pictureParts(bytes) }
}

/// A player of the ingest that keeps complete tags.
final class WholePlayer: Sendable {
    struct Tag: Sendable {
        var kind: RTMPMessage.Kind
        var timestamp: UInt32
        var body: [UInt8]
        var arrival: Int64

        var isVideoHeader: Bool { kind == .video && body.starts(with: [0x17, 0]) }
        var isPicture: Bool { kind == .video && body.dropFirst().first == 1 }
        var isIDR: Bool { kind == .video && body.starts(with: [0x17, 1]) }
        var isSound: Bool { kind == .audio && body.dropFirst().first == 1 }
        var payload: [UInt8] { Array(body.dropFirst(5)) }
        /// The access unit in the form of `WhipClient.sent`.
        var unit: [UInt8] { WhipClient.pictureParts(payload) }
    }

    private let shared = Shared()
    private let session: RTMPSession

    private final class Shared: Sendable {
        let tags = Mutex<[Tag]>([])
        let end = Mutex<ConnectionFault?>(nil)
    }

    init(_ url: String) throws {
        session = RTMPSession(.play, try RTMPAddress(url), limits: nil, timeouts: .init(step: 30, idle: 60)) {
            [shared] event in
            switch event {
            case .media(let messages, let arrival):
                shared.tags.withLock { tags in
                    tags += messages.map {
                        Tag(kind: $0.kind, timestamp: $0.timestamp, body: $0.body, arrival: arrival)
                    }
                }
            case .ended(let fault): shared.end.withLock { $0 = fault }
            default: break
            }
        }
        session.start()
    }

    var tags: [Tag] { shared.tags.withLock { $0 } }
    var pictures: [Tag] { tags.filter(\.isPicture) }
    var end: ConnectionFault? { shared.end.withLock { $0 } }
    func requestKeyframe() { session.requestKeyframe() }
    func stop() { session.stop() }
}
