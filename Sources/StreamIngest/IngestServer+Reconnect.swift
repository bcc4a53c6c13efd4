import EncodedMedia
import MixModel
import RTMP

/// Publishers that go to another server before this one ends.
extension IngestServer {
    /// Asks the publishers that follow such requests to reconnect (Enhanced RTMP v2).
    ///
    /// They keep publishing here until they have another connection. The URL is the one that each of them uses: the service
    /// does not know at which address a publisher reaches another server.
    func askToReconnect(_ words: String) {
        roundWords = words
        round.begin(clients.values.filter(\.client.session.canBeAskedToReconnect).map(\.client.id))
        continueRound()
        report(.reconnecting(publishers: round.count))
    }

    /// Asks the next publishers.
    func continueRound() {
        for id in round.next() { clients[id]?.client.requestReconnect(ReconnectRequest(words: roundWords)) }
        roundTimer.set(round.isUnderWay ? MonotonicClock.now() + ReconnectRound.interval : .max)
    }

    /// Records that a connection has ended.
    func leaveRound(_ id: Int) {
        if round.left(id) { report(.reconnecting(publishers: round.count)) }
    }
}
