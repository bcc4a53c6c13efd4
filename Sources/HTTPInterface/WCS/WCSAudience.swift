import EventSubscription
import Synchronization

/// The players of WCS clients, by the stream that they play.
final class WCSAudience: Sendable {
    struct Player: Sendable {
        /// Identifier that the client chose.
        let id: String
        /// Number of the attempt to begin.
        let number: Int
        let onChange: AsyncStream<WCSConnection.Change>.Continuation
        /// Bounded: a client that does not read loses messages of publishers.
        let onSaying: AsyncStream<WCSConnection.Saying>.Continuation
    }

    private struct Key: Hashable {
        let connection: ObjectIdentifier
        let id: String
    }

    private let players = Mutex<[WebRTCPlayTarget: [Key: Player]]>([:])

    func enter(_ player: Player, _ target: WebRTCPlayTarget, of connection: WCSConnection) {
        let key = Key(connection: ObjectIdentifier(connection), id: player.id)
        players.withLock { $0[target, default: [:]][key] = player }
    }

    func leave(_ id: String, _ target: WebRTCPlayTarget, of connection: WCSConnection) {
        let key = Key(connection: ObjectIdentifier(connection), id: id)
        players.withLock { players in
            players[target]?[key] = nil
            if players[target]?.isEmpty == true { players[target] = nil }
        }
    }

    /// Passes a publisher's message to all players of its stream.
    func tell(_ target: WebRTCPlayTarget, _ type: String, _ payload: JSONValue?) {
        for player in all(of: target) { player.onSaying.yield(.init(id: player.id, type: type, payload: payload)) }
    }

    /// Tells all players of a stream that its publisher has ended it.
    func lose(_ target: WebRTCPlayTarget) {
        for player in all(of: target) {
            player.onChange.yield(.init(id: player.id, number: player.number, what: .lost))
        }
    }

    private func all(of target: WebRTCPlayTarget) -> [Player] {
        players.withLock { $0[target].map { Array($0.values) } ?? [] }
    }
}
