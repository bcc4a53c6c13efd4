import MixModel
import TaskStore

/// Publishers of one stream at the ingests of several nodes.
extension StreamCourier {
    /// The way in which a new publisher treats another one who is connected elsewhere.
    enum Courtesy: Hashable, Sendable {
        /// The new publisher takes the other's place, unless the other's node says that the other holds the stream.
        case yieldsToHold
        /// The new publisher is refused, also while it is unknown whether the other is connected.
        case yields
        /// The new publisher is refused only if the other's node says that the other is connected.
        case yieldsIfTold
    }

    /// The result of the event of a publisher who begins.
    struct Succession: Sendable {
        /// The publication at the ingest that had the stream until now; `nil` if none had.
        var former: StreamHolder?
        /// Whether the publisher there was sending.
        var wasSending = false
    }

    /// Times that a publisher asks about another one before it is refused. Each time it is another one.
    private static let mostQuestions = 4

    /// Stores the event of a publisher who begins.
    ///
    /// - Parameters:
    ///   - stream: The stream's text at ingests.
    ///   - path: As for `StreamOrder.store`.
    ///   - isWanted: Returns whether the publisher is still there. Asked before it takes the place of another ingest's.
    /// - Throws: `OrchestratorError`, `.publishedElsewhere` or `.streamHeld` if the publisher has to yield, and
    ///   `.publisherLeft` if it is not wanted any more.
    func begin(
        _ event: RoomEvent, of stream: String, path: String, courtesy: Courtesy,
        isWanted: @Sendable () async -> Bool
    ) async throws(OrchestratorError) -> Succession {
        guard let cluster else { return Succession(former: try await store(event, path: path).former) }
        var turn = StreamTurn.yields(except: nil)
        var wasSending = false
        for _ in 0..<Self.mostQuestions {
            let receipt = try await store(event, path: path, turn: turn)
            guard receipt.outcome == nil, let former = receipt.former else {
                return Succession(former: receipt.former, wasSending: wasSending && receipt.former != nil)
            }
            // An ingest whose node is gone has no publishers.
            let other = try await activity(of: stream, at: former.url, courtesy, cluster)
            if courtesy == .yieldsToHold {
                if let hold = other?.hold { throw .streamHeld(hold) }
            } else if other != nil {
                throw .publishedElsewhere
            }
            // The other one would lose its place to nobody: the end that follows takes the stream out of the room.
            guard await isWanted() else { throw .publisherLeft }
            wasSending = other?.isSending ?? false
            turn = .yields(except: former)
        }
        guard courtesy == .yieldsToHold else { throw .publishedElsewhere }
        return Succession(former: try await store(event, path: path).former)
    }

    /// Returns the activity of the connected publisher whose stream has this URL; `nil` if none is connected.
    private func activity(
        of stream: String, at url: String, _ courtesy: Courtesy, _ cluster: ClusterAccess
    ) async throws(OrchestratorError) -> PublisherActivity? {
        guard let place = IngestStreamURL(url)?.place,
            let other = await cluster.node.neighbour(withIngestAt: place)
        else { return nil }
        do throws(OrchestratorError) {
            let answer = try await ask(
                .isPublished(stream: stream), of: other, within: StreamPatience.quickAnswer, cluster)
            try answer.check()
            guard answer.isPublished ?? false else { return nil }
            return answer.activity ?? PublisherActivity()
        } catch {
            guard courtesy == .yields else { return nil }
            throw OrchestratorError(
                .unavailable, "publisher-unknown", "Another publisher may be live with this stream key",
                detail: "the node \(other.name) does not answer: try again, it counts as lost once its lease ends",
                retryAfter: 2)
        }
    }

    /// Tells the node whose ingest had a stream until now that it has it no longer. May be lost.
    func tell(ofStream text: String, at place: String) async {
        guard let cluster, let other = await cluster.node.neighbour(withIngestAt: place) else { return }
        _ = try? await ask(.look(stream: text), of: other, within: StreamPatience.answer, cluster)
    }
}

extension OrchestratorError {
    static let publishedElsewhere = OrchestratorError(
        .conflict, "published-elsewhere", "Another publisher is live with this stream key",
        detail: "the publisher is connected to another node")

    static let publisherLeft = OrchestratorError(
        .conflict, "publisher-left", "The publisher has left",
        detail: "the publisher did not wait for the decision about it")
}
