import EncodedMedia
import Foundation
import MediaFormats
import Synchronization

@testable import RTMP

/// A server on a real socket, made of the ingest's own session, that can ask its publisher to reconnect.
///
/// `@unchecked Sendable`: `peers` belongs to the socket loop; everything else does not change or locks itself.
final class ReconnectingServer: @unchecked Sendable {
    /// The answer to a request to publish.
    enum Answer: Sendable, CaseIterable {
        case accepts, refuses, isSilent
    }

    /// What the server has got, by the order of the connections.
    struct Seen: Sendable {
        var connections = 0
        var requests: [RTMPStreamRequest] = []
        var tags: [[FLVTag]] = []
        /// Number of publishers that have ended their stream properly.
        var left = 0

        /// The frames of all publishers in their order.
        var frames: [FLVTag] { tags.flatMap { $0.filter { if case .frame = $0.role { true } else { false } } } }
    }

    private final class Peer {
        let connection: TCPConnection
        var session: RTMPServerSession

        init(_ connection: TCPConnection, _ session: RTMPServerSession) {
            self.connection = connection
            self.session = session
        }
    }

    /// The server of a listener, which is created before the server.
    private final class Box: @unchecked Sendable {
        weak var server: ReconnectingServer?
    }

    private let loop = SocketLoop.shared
    private let answer: Answer
    private let listener: TCPListener
    private let state = Mutex(Seen())
    private var peers: [Peer] = []

    init(_ answer: Answer = .accepts) throws {
        self.answer = answer
        let box = Box()
        listener = try TCPListener(host: "127.0.0.1", port: 0) { descriptor, _ in
            guard let server = box.server else {
                close(descriptor)
                return
            }
            server.accept(descriptor)
        }
        box.server = self
    }

    var seen: Seen { state.withLock { $0 } }
    var url: String { "rtmp://127.0.0.1:\(listener.port)/live/stream-key" }
    var port: Int { Int(listener.port) }

    /// Asks everyone who can be asked.
    func ask(_ request: ReconnectRequest) {
        loop.perform { [self] in
            for peer in peers {
                peer.session.requestReconnect(request)
                Self.flush(peer)
            }
        }
    }

    func stop() {
        listener.close()
        loop.perform { [self] in
            for peer in peers { peer.connection.close() }
            peers = []
        }
    }

    private func accept(_ descriptor: Int32) {
        let number = peers.count
        let connection = TCPConnection(accepted: descriptor, loop: loop) { [weak self] event in
            self?.take(event, of: number)
        }
        peers.append(Peer(connection, RTMPServerSession(now: MonotonicClock.now())))
        state.withLock { seen in
            seen.connections += 1
            seen.tags.append([])
        }
        connection.open()
    }

    private func take(_ event: TCPConnection.Event, of number: Int) {
        guard case .received(let bytes, let arrival) = event, number < peers.count else { return }
        let peer = peers[number]
        var random = SystemRandomNumberGenerator()
        for event in peer.session.read(bytes, now: arrival, using: &random) {
            switch event {
            case .requested(let wish):
                state.withLock { $0.requests.append(wish) }
                decide(about: peer)
            case .tag(let tag): state.withLock { $0.tags[number].append(tag) }
            case .left: state.withLock { $0.left += 1 }
            case .over, .keyframeWanted: break
            }
        }
        Self.flush(peer)
        if peer.session.phase == .over { peer.connection.finish() }
    }

    private func decide(about peer: Peer) {
        switch answer {
        case .accepts: peer.session.accept(now: MonotonicClock.now())
        case .refuses: peer.session.refuse(.denied("not this one"))
        case .isSilent: break
        }
    }

    private static func flush(_ peer: Peer) {
        let output = peer.session.takeOutput()
        if !output.isEmpty { peer.connection.send(output) }
    }
}
