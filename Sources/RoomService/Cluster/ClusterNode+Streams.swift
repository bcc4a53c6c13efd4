import MixModel
import TaskStore

/// Streams of other nodes' ingests.
extension ClusterNode {
    /// Does what the ingest of another node asks for. The caller has made sure that it is a node.
    package func answer(_ order: StreamOrder) async -> StreamAnswer {
        guard let registry = registry.withLock({ $0 }) else { return StreamAnswer(.stopping) }
        switch order {
        case .note(let room, let words):
            _ = registry.noteOfStream(words, in: room)
            return StreamAnswer()
        case .store(let event, let path):
            // A node that has just begun: its ingest has to be known before relays are told of the stream.
            if event.isPublication { try? await readRoster() }
            do throws(OrchestratorError) {
                return StreamAnswer(outcome: try await registry.store(event, ofStreamAt: path))
            } catch {
                return StreamAnswer(error)
            }
        }
    }
}
