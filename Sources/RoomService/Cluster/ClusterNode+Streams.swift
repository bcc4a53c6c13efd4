import MixModel
import TaskStore
import TextFormats

/// The streams of this node's ingest, for the other nodes.
package protocol LocalStreams: AnyObject, Sendable {
    /// Returns whether a publisher of the stream is connected or about to be let in; `nil` if that is not known at the moment.
    func hasPublisher(of stream: String) async -> Bool?
    /// Returns what is known of the stream's publisher.
    func activity(of stream: String) async -> PublisherActivity
    /// Looks soon whether the stream's room has it from another ingest by now.
    func look(at stream: String)
    /// Asks the publishers that follow such requests to reconnect, and waits until they have left.
    ///
    /// - Parameter isWanted: Asked several times a second; it waits no longer once this is `false`.
    /// - Returns: Number of these publishers that are still connected.
    func sendPublishersAway(while isWanted: @Sendable () -> Bool) async -> Int
    /// Rooms whose programs are streams of the ingest, by the streams' texts.
    var origins: [String: RoomID] { get async }
}

/// Players of streams at this node, for the publishers at other nodes.
package protocol LocalPlayers: AnyObject, Sendable {
    /// Passes on what a publisher says to the players of its stream. Returns at once.
    func say(_ saying: StreamSaying)
}

/// Streams of other nodes' ingests.
extension ClusterNode {
    /// Tells the node of its ingest. Call before `run`.
    package func attach(_ streams: any LocalStreams) { localStreams.withLock { $0 = streams } }

    /// Tells the node of its players. Call before `run`.
    package func attach(_ players: any LocalPlayers) { localPlayers.withLock { $0 = players } }

    /// Does what the ingest of another node asks for. The caller has made sure that it is a node.
    package func answer(_ order: StreamOrder) async -> StreamAnswer {
        guard let registry = registry.withLock({ $0 }) else { return StreamAnswer(.stopping) }
        let streams = localStreams.withLock { $0 }
        var answer = StreamAnswer()
        switch order {
        case .note(let room, let words):
            _ = registry.noteOfStream(words, in: room)
        case .store(let event, let path, let turn):
            // A node that has just begun: its ingest has to be known before relays are told of the stream.
            if event.isPublication { try? await readRoster() }
            do throws(OrchestratorError) {
                return StreamAnswer(try await registry.store(event, ofStreamAt: path, turn: turn ?? .takes))
            } catch {
                return StreamAnswer(error)
            }
        case .isPublished(let stream):
            guard let streams else {
                answer.isPublished = false
                break
            }
            // Its ingest has just been found again, or is being started.
            guard let isPublished = await streams.hasPublisher(of: stream) else { return StreamAnswer(.stopping) }
            answer.isPublished = isPublished
            if isPublished { answer.activity = await streams.activity(of: stream) }
        case .look(let stream):
            streams?.look(at: stream)
        case .programs(let path):
            var programs = StreamPrograms()
            programs.senders = registry.rooms(sendingTo: path)
            programs.origins = await streams?.origins ?? [:]
            answer.programs = programs
        case .say(let sayings):
            let players = localPlayers.withLock { $0 }
            for saying in sayings.prefix(SayingQueues.most) { players?.say(saying) }
        case .requestKeyframe(let task):
            let relay = try? await RelayConnection.open(path: registry.services.sockets.path(of: task))
            try? await relay?.requestKeyframe()
        case .viewers(let task, let node, let count):
            registry.services.viewers.set(count, of: task, at: node)
        }
        return answer
    }

    /// Returns the other node whose ingest is at this place; `nil` if none is at work there.
    func neighbour(withIngestAt place: String) async -> NodeProfile? {
        // Reads the roster first, because nodes may have begun or ended since. Without the store, the known ones count.
        try? await readRoster()
        return others.first { $0.isAtWork && $0.profile?.ingest?.hasSameUTF8(as: place) ?? false }?.profile
    }
}
