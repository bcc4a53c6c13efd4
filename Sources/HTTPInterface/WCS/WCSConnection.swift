import EventSubscription
import MixModel
import RoomService

/// The owner of one client's `WCSSession`: performs its actions.
actor WCSConnection {
    /// What the door says of a stream.
    struct Change: Sendable {
        let id: String
        /// Number of the attempt to publish.
        let number: Int
        let what: WebRTCNews
    }

    /// Actions that take time.
    enum Work: Sendable {
        case publish(id: String, names: StreamNames, offer: String)
        case look(id: String, name: String, StreamNames, WCSSession.Purpose)
        case mute(StreamNames, audio: Bool?, video: Bool?)
    }

    private struct Opened {
        let names: StreamNames
        /// Number of the attempt: a client may end a stream and begin another one with the same identifier.
        let number: Int
        /// The door's session; `nil` until the offer is answered.
        var session: String?
        /// What the door said before the answer was passed on.
        var early: [WebRTCNews] = []
    }

    private let server: WCSServer
    private let socket: WebSocket
    private let onChange: AsyncStream<Change>.Continuation
    private var session = WCSSession()
    private var app = AppID.standard
    private var opened: [String: Opened] = [:]
    private var number = 0

    init(_ server: WCSServer, _ socket: WebSocket, onChange: AsyncStream<Change>.Continuation) {
        self.server = server
        self.socket = socket
        self.onChange = onChange
    }

    /// Returns what is to be performed beside the reading of messages.
    func receive(_ message: WebSocketMessage) -> [Work] {
        // Binary messages are of clients that play over them.
        guard case .text(let text) = message else { return [] }
        return perform(session.received(text))
    }

    func tick() { _ = perform(session.tick()) }

    func take(_ change: Change) {
        guard let stream = opened[change.id], stream.number == change.number else { return }
        guard stream.session != nil else {
            // The connection and its end.
            if stream.early.count < 2 { opened[change.id]?.early.append(change.what) }
            return
        }
        switch change.what {
        case .connected:
            server.note(stream.names, change.id, status: "PUBLISHING")
            _ = perform(session.connected(change.id))
        case .ended(let reason):
            forget(change.id)
            server.logger.info("WCS: a stream has ended: \(reason)", metadata: ["room": "\(stream.names.room)"])
            _ = perform(session.failed(change.id, WCSInfo.rtpActivity))
        }
    }

    func terminate(_ id: String) { _ = perform(session.terminated(id)) }

    /// Ends what the client has begun.
    func end() {
        for id in opened.keys { close(id) }
    }

    private func perform(_ actions: [WCSSession.Action]) -> [Work] {
        actions.flatMap { perform($0) }
    }

    private func perform(_ action: WCSSession.Action) -> [Work] {
        switch action {
        case .send(let message): socket.send(message.text)
        case .close(let close): socket.close(close)
        case .admit(let connect):
            if let app = server.admit(connect, from: socket.address) {
                self.app = app
                return perform(session.admitted())
            }
            server.logger.info(
                "WCS: a client without a valid token is refused", metadata: ["address": "\(socket.address)"])
            return perform(session.denied("a token with the scope publish is required"))
        case .publish(let id, let name, let offer): return begin(id, name, offer)
        case .unpublish(let id): close(id)
        case .look(let id, let name, let purpose):
            guard case .success(let names) = server.names(name, app: app) else {
                return perform(session.looked(id, name, purpose, isThere: false))
            }
            return [.look(id: id, name: name, names, purpose)]
        case .mute(let id, let audio, let video):
            if let names = opened[id]?.names { return [.mute(names, audio: audio, video: video)] }
        }
        return []
    }

    private func begin(_ id: String, _ name: String, _ offer: String) -> [Work] {
        guard let stream = session.streams[id] else { return [] }
        let names: StreamNames
        switch server.names(name, app: app) {
        case .success(let found): names = found
        case .failure(let reason):
            server.logger.info("WCS: a stream is refused: \(reason.text)", metadata: ["address": "\(socket.address)"])
            return perform(session.failed(id, WCSInfo.restricted))
        }
        guard server.enter(names, id, stream, self) else { return perform(session.failed(id, WCSInfo.nameInUse)) }
        number += 1
        opened[id] = Opened(names: names, number: number)
        return [.publish(id: id, names: names, offer: offer)]
    }

    /// Performs what takes time, and takes the outcome.
    func perform(_ work: Work) async {
        switch work {
        case .publish(let id, let names, let offer): await publish(id, names, offer)
        case .look(let id, let name, let names, let purpose):
            let isThere = await server.isThere(names)
            _ = perform(session.looked(id, name, purpose, isThere: isThere))
        case .mute(let names, let audio, let video): await server.mute(names, audio: audio, video: video)
        }
    }

    private func publish(_ id: String, _ names: StreamNames, _ offer: String) async {
        guard let number = opened[id]?.number else { return }
        do throws(OrchestratorError) {
            let answer = try await server.door.open(names, offer: offer, address: socket.address) { [onChange] what in
                onChange.yield(Change(id: id, number: number, what: what))
            }
            guard opened[id]?.number == number else {
                // The client has gone meanwhile.
                return server.door.close(answer.id, of: names.room.app)
            }
            opened[id]?.session = answer.id
            _ = perform(session.answered(id, answer.answer))
            for what in opened[id]?.early ?? [] { take(Change(id: id, number: number, what: what)) }
        } catch {
            guard opened[id]?.number == number else { return }
            forget(id)
            server.logger.info(
                "WCS: a publisher is refused: \(error.title): \(error.detail)", metadata: ["room": "\(names.room)"])
            _ = perform(session.failed(id, Self.info(error)))
        }
    }

    private static func info(_ error: OrchestratorError) -> String {
        switch error.kind {
        case .malformed, .invalid: WCSInfo.noCommonCodecs
        case .conflict: WCSInfo.nameInUse
        case .failed: WCSInfo.iceTimeout
        default: WCSInfo.restricted
        }
    }

    private func close(_ id: String) {
        guard let stream = forget(id), let session = stream.session else { return }
        server.door.close(session, of: stream.names.room.app)
    }

    @discardableResult private func forget(_ id: String) -> Opened? {
        guard let stream = opened.removeValue(forKey: id) else { return nil }
        server.leave(stream.names, id)
        return stream
    }
}
