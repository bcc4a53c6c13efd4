import EventSubscription
import MixModel

/// The ends of streams of other servers. An ingest of the service ends its players with their publisher; another server
/// may go on playing what the room has lost.
extension WebRTCViewers {
    /// Time in which a room that could not be read is checked again, and between two checks of rooms of other nodes.
    private static let patience = Duration.seconds(1)

    /// Ends the viewers of streams that are no longer in their rooms, whichever interface ended them.
    func watchRooms() async {
        let news = registry.services.viewerNews
        for await _ in news.signals {
            var unread: [RoomID] = []
            for room in news.takeChanged() {
                if await !endGone(in: room) { unread.append(room) }
            }
            guard !unread.isEmpty, (try? await Task.sleep(for: Self.patience)) != nil else { continue }
            for room in unread { news.changed(room) }
        }
    }

    /// Checks rooms of other nodes, because their changes are not reported here.
    func watchRooms(elsewhere homes: any RoomHomes) async {
        while (try? await Task.sleep(for: Self.patience)) != nil {
            let rooms = state.withLock { Set($0.players.values.compactMap { $0.stream?.roomAtServer }) }
            for room in rooms where !homes.has(room) { registry.services.viewerNews.changed(room) }
        }
    }

    /// Watches the room of a stream of another server, and has it checked: it may have changed since it was read.
    func watchRoom(of stream: PlayedStream) {
        guard let room = stream.roomAtServer else { return }
        registry.services.viewerNews.watch(room)
        registry.services.viewerNews.changed(room)
    }

    func unwatchIfEmpty(_ room: RoomID, _ state: State) {
        if !state.players.values.contains(where: { $0.stream?.roomAtServer == room }) {
            registry.services.viewerNews.unwatch(room)
        }
    }

    /// Ends the players of streams that have left the room, or that their participants publish elsewhere now.
    ///
    /// - Returns: False if this cannot be determined now.
    private func endGone(in room: RoomID) async -> Bool {
        // Before the room is read, which may not have the streams of later players yet.
        let played = state.withLock { state in state.players.values.filter { $0.stream?.roomAtServer == room } }
        guard !played.isEmpty else { return true }
        let document: Room?
        do throws(OrchestratorError) {
            document = try await registry.document(of: room)
        } catch {
            return false
        }
        for one in played {
            guard case .server(let key, let mark)? = one.stream else { continue }
            let stream = document?.participant(key.names.user)?.streams.first { $0.kind == key.names.stream }
            guard stream.map({ PlayedStream.mark(of: $0.url) }) != mark else { continue }
            state.withLock { $0.players[one.player.id]?.isEnding = true }
            one.player.terminate(reason: "the participant no longer publishes the stream")
        }
        return true
    }
}
