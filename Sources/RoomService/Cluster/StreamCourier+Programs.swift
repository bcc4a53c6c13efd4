import MixModel
import TaskStore

/// Questions to all nodes about programs that are published into rooms.
extension StreamCourier {
    /// Longest answer that is read, in bytes: an ingest has at most 1024 streams.
    private static let longestAnswer = 4 << 20

    /// Returns the rooms of other nodes whose programs are sent to this path, at any host, and the programs that are streams of
    /// their ingests.
    ///
    /// - Throws: `OrchestratorError` if a node that is at work does not say.
    func programs(at path: String) async throws(OrchestratorError) -> StreamPrograms {
        guard let cluster else { return StreamPrograms() }
        try? await cluster.node.readRoster()
        let others = cluster.node.others.filter(\.isAtWork).compactMap(\.profile)
        typealias Told = Result<StreamPrograms, OrchestratorError>
        let answers = await withTaskGroup(of: Told.self) { group in
            for other in others {
                group.addTask {
                    await Told.of { () async throws(OrchestratorError) in
                        try await programs(at: path, of: other, cluster)
                    }
                }
            }
            return await group.reduce(into: [Told]()) { $0.append($1) }
        }
        var all = StreamPrograms()
        for answer in answers {
            let told = try answer.get()
            all.senders += told.senders
            all.origins.merge(told.origins) { $1 }
        }
        all.senders.sort()
        return all
    }

    private func programs(
        at path: String, of other: NodeProfile, _ cluster: ClusterAccess
    ) async throws(OrchestratorError) -> StreamPrograms {
        do throws(OrchestratorError) {
            let answer = try await ask(
                .programs(path: path), of: other, within: StreamPatience.quickAnswer, upTo: Self.longestAnswer, cluster)
            try answer.check()
            return answer.programs ?? StreamPrograms()
        } catch {
            throw OrchestratorError(
                .unavailable, "program-unknown", "It is not known whose program this is",
                detail: "the node \(other.name) does not answer: try again, it counts as lost once its lease ends",
                retryAfter: 2)
        }
    }
}
