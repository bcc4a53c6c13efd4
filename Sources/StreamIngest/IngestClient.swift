import EncodedMedia
import Foundation
import RTMP
import TextFormats

/// A connection of a publisher or a player. Belongs to the socket loop.
final class IngestClient {
    /// An event for the owner. Events occur one at a time.
    enum Event {
        case session([RTMPServerSession.Event])
        /// The client's stream is over, but the client may still have to read the reason.
        case over(RTMPServerEnd)
        /// The last event.
        case closed(reason: String)
    }

    /// Maximum number of bytes waiting for a client that does not play.
    private static let longestOutbox = 1 << 18
    /// Time in ns for which a refused client may read the reason.
    private static let farewell: Int64 = 2_000_000_000

    let id: Int
    let address: InternetAddress
    private(set) var session: RTMPServerSession
    private let loop: SocketLoop
    private let onEvent: (IngestClient, Event) -> Void
    private var connection: TCPConnection?
    private var timer: SocketLoop.Watch?
    private var isLeaving = false

    /// - Parameters:
    ///   - descriptor: The accepted socket, owned from now on.
    ///   - tls: The server's certificate; `nil` means no TLS. Its handshake counts towards the time limit of RTMP's.
    ///   - onEvent: Called on the loop.
    init(
        id: Int, descriptor: Int32, tls: TLSContext?, address: InternetAddress, limits: RTMPServerLimits,
        loop: SocketLoop,
        onEvent: @escaping (IngestClient, Event) -> Void
    ) {
        self.id = id
        self.address = address
        self.loop = loop
        self.onEvent = onEvent
        session = RTMPServerSession(limits: limits, now: MonotonicClock.now())
        let connection = TCPConnection(accepted: descriptor, tls: tls, loop: loop) { [weak self] event in
            self?.take(event)
        }
        self.connection = connection
        let timer = SocketLoop.Watch(onReady: {}, onDeadline: { [weak self] in self?.deadlinePassed() })
        self.timer = timer
        timer.deadline = session.deadline
        loop.add(timer)
        connection.open()
    }

    /// Number of bytes waiting for the client.
    var queued: Int { connection?.queued ?? 0 }

    func send(_ bytes: [UInt8]) {
        if !bytes.isEmpty { connection?.send(bytes) }
    }

    func accept() {
        session.accept(now: MonotonicClock.now())
        sendOutput()
    }

    /// Tells the client why its stream is over or refused, and closes the connection once the client has read that.
    func refuse(_ status: RTMPStatus) {
        session.refuse(status)
        leave()
    }

    /// Asks a publisher for a keyframe, if it accepts such requests.
    func requestKeyframe() {
        session.requestKeyframe()
        sendOutput()
    }

    /// Asks a publisher to reconnect, if it follows such requests.
    func requestReconnect(_ request: ReconnectRequest) {
        session.requestReconnect(request)
        sendOutput()
    }

    /// Closes at once, without an event.
    func close() {
        connection?.close()
        connection = nil
        if let timer { loop.remove(timer) }
        timer = nil
    }

    private func take(_ event: TCPConnection.Event) {
        switch event {
        case .connected: break
        case .received(let bytes, let arrival):
            guard !isLeaving else { return }
            var random = SystemRandomNumberGenerator()
            handle(session.read(bytes, now: arrival, using: &random))
        case .ended(let fault):
            connection = nil
            close()
            onEvent(self, .closed(reason: fault?.words ?? "the client closed the connection"))
        }
    }

    private func handle(_ events: [RTMPServerSession.Event]) {
        sendOutput()
        if !events.isEmpty { onEvent(self, .session(events)) }
        sendOutput()
        guard connection != nil, !isLeaving else { return }
        if case .over(let end)? = events.last {
            onEvent(self, .over(end))
            leave()
        } else if session.phase != .playing, queued > Self.longestOutbox {
            close()
            onEvent(self, .closed(reason: "the client does not read the answers"))
        }
    }

    private func sendOutput() {
        timer?.deadline = isLeaving ? timer?.deadline ?? .max : session.deadline
        send(session.takeOutput())
    }

    private func leave() {
        guard !isLeaving, let connection else { return }
        isLeaving = true
        send(session.takeOutput())
        connection.finish()
        timer?.deadline = MonotonicClock.now() + Self.farewell
    }

    private func deadlinePassed() {
        if isLeaving {
            close()
            onEvent(self, .closed(reason: "refused"))
        } else {
            handle(session.passDeadline(now: MonotonicClock.now()))
        }
    }
}
