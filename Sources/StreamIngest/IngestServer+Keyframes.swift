import RTMP

/// Keyframes for players that need one.
extension IngestServer {
    /// Asks the publisher of the stream that a player plays for a keyframe.
    func requestKeyframe(for player: IngestClient, _ now: Int64) {
        guard let name = clients[player.id]?.stream, let stream = streams[name] else { return }
        if let program = programs[name] { return program.requestKeyframe() }
        stream.wantKeyframe()
        if let publisher = clients.values.first(where: { $0.isPublisher && $0.stream == name })?.client {
            passKeyframeRequest(of: stream, to: publisher, now)
        }
    }

    /// Passes a request on to the publisher once it is due.
    func passKeyframeRequest(of stream: RelayedStream, to publisher: IngestClient, _ now: Int64) {
        guard publisher.session.takesKeyframeRequests, stream.passesKeyframeRequest(now: now) else { return }
        publisher.requestKeyframe()
    }
}
