import EventSubscription
import RoomService
import TextFormats

/// Players of a stream at several nodes.
extension WCSServer: LocalPlayers {
    /// Passes a publisher's message to all players of its stream, here and at other nodes.
    func tell(_ target: WebRTCPlayTarget, _ type: String, _ payload: JSONValue?) {
        audience.tell(target, type, payload)
        guard let sayings, case .participant(let names) = target else { return }
        sayings.tell(StreamSaying(of: names, type: type, payload: payload.map { JSONText.of($0) }))
    }

    package func say(_ saying: StreamSaying) {
        let payload = saying.payload.flatMap { try? JSONValue(parsing: $0.utf8) }
        audience.tell(.participant(saying.names), saying.type, payload)
    }
}
