import NIOCore
import SocketIO

/// Performs the decisions of `EngineSession`.
extension SocketIOSession {
    /// Maximum number and size in bytes of messages that wait for their turn.
    private static let mostWork = (count: 2000, bytes: 4 << 20)

    func change(_ body: (inout State) -> [EngineSession.Action]) {
        state.withLock { perform(body(&$0), &$0) }
        schedule()
    }

    /// Schedules the next check of the connection with the server.
    func schedule() {
        let time = state.withLock { state -> Int64? in
            let times = [state.engine.deadline, state.engine.isOver ? nil : state.connection.deadline]
            guard let time = times.compactMap({ $0 }).min(), time < state.visitAt else { return nil }
            state.visitAt = time
            return time
        }
        if let time { server.visit(self, at: time) }
    }

    /// Performs actions without waiting or calling back: sockets and continuations only record the request.
    func perform(_ actions: [EngineSession.Action], _ state: inout State) {
        for action in actions {
            switch action {
            case .answer(let number, let packets):
                server.sent(packets.count)
                answer(number, .packets(packets), &state)
            case .accept(let number): answer(number, .accepted, &state)
            case .refuse(let number, let error): answer(number, .refused(error), &state)
            case .write(let number, let packets):
                server.sent(packets.count)
                if let socket = state.sockets[number] { for packet in packets { write(packet, to: socket) } }
            case .shut(let number): state.sockets.removeValue(forKey: number)?.close(.normal())
            case .deliver(let message):
                state.work.append(.message(message))
                state.workBytes += message.size
                if state.work.count > Self.mostWork.count || state.workBytes > Self.mostWork.bytes {
                    perform(state.engine.end(.overflow), &state)
                }
            case .end(let reason):
                state.end = reason
                state.work.append(.ended)
                server.remove(self, reason)
            }
        }
    }

    private func answer(_ number: Int, _ answer: Answer, _ state: inout State) {
        if let poll = state.polls.removeValue(forKey: number) {
            poll.resume(returning: answer)
        } else {
            state.answers[number] = answer
        }
    }

    private func write(_ packet: EngineIOPacket, to socket: WebSocket) {
        switch packet.frame(version, isTextOnly: isTextOnly) {
        case .text(let text): socket.send(text)
        case .binary(let bytes): socket.send(ByteBuffer(bytes: bytes), isText: false)
        }
    }
}

extension EngineIOMessage {
    var size: Int {
        switch self {
        case .text(let text): text.utf8.count + 64
        case .binary(let bytes): bytes.count + 64
        }
    }
}
