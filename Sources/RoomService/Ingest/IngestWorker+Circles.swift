import MixModel

/// Programs that are published into rooms.
extension IngestWorker {
    /// Notes whose program a publisher sends, if it sends one.
    ///
    /// - Returns: The reason why it may not begin; `nil` if no room ends up in its own picture.
    func circle(_ key: IngestStreamKey, _ request: IngestRequest) async -> (isName: Bool, reason: String)? {
        let path = "/\(request.application)/\(request.name)"
        let before = circles.origins[key]
        do throws(OrchestratorError) {
            var senders = await sendersHere(request)
            // Publishers come through load balancers, under names that no node knows as its own.
            if senders.isEmpty, courier.hasOthers, request.isOutput == true, !IngestStreamKey.isWorkers(request) {
                senders = try await registry.rooms(sendingTo: path) + courier.programs(at: path).senders
            }
            // Noted before others are asked: of two that begin at once at two nodes one at least finds the other.
            guard circles.begin(key, from: senders.first) else { return Self.ownProgram }
            guard !senders.isEmpty, courier.hasOthers else { return nil }
            let others = try await courier.programs(at: path).origins.compactMap { text, room in
                IngestStreamKey(text).map { ($0, room) }
            }
            let origins = Dictionary(others) { $1 }
            guard senders.contains(where: { circles.closes(key, from: $0, with: origins) }) else { return nil }
            circles.set(key, before)
            return Self.ownProgram
        } catch {
            circles.set(key, before)
            return (false, "\(error.title): \(error.detail)")
        }
    }

    private static let ownProgram = (
        isName: true,
        reason: "this is the room's own program, which would be a picture of itself: change the URL of the output"
    )

    /// The room of this node whose program arrives as this publisher, if it is one.
    private func sendersHere(_ request: IngestRequest) async -> [RoomID] {
        let sender = await registry.services.destinations.sender(of: request, at: rules) { host in
            (try? await HostAddresses.lookUp(host, limit: .seconds(1))) ?? []
        }
        return sender.flatMap { registry.room(of: $0) }.map { [$0] } ?? []
    }

    /// The origins of programs, as `LocalStreams.origins` has them.
    var programOrigins: [String: RoomID] {
        Dictionary(circles.origins.map { ($0.key.text, $0.value) }) { $1 }
    }
}
