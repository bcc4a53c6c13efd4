import Foundation
import MixModel
import TestSupport
import Testing

@testable import RoomService

/// Random histories of one stream's publishers at three nodes, with scripted ingests. One publisher remains at the end,
/// and the room has that one.
@Suite(.timeLimit(.minutes(5))) struct ClusterPublisherHistoryTests {
    /// A publisher that was admitted and has not ended.
    private struct Live {
        let session: String
        let stream: String
        var isLost = false
    }

    private struct History {
        let nodes: [ClusterMember]
        /// The publisher at each ingest.
        var live: [Int: Live] = [:]

        /// Nodes with a connected publisher.
        var connected: [Int] { live.filter { !$0.value.isLost }.keys.sorted() }

        func ingest(_ index: Int) throws -> ScriptedIngest { try #require(nodes[index].ingest) }

        /// Carries out the commands that the ingests have received.
        mutating func obey() throws {
            for (index, publisher) in live {
                let ingest = try ingest(index)
                guard ingest.commands.contains(.takenOver(stream: publisher.stream, session: publisher.session)) else {
                    continue
                }
                try end(index)
            }
        }

        mutating func take(_ verdict: ScriptedIngest.Verdict, at index: Int) -> Bool {
            guard case .allowed(let session, let stream) = verdict else { return false }
            live[index] = Live(session: session, stream: stream)
            return true
        }

        mutating func end(_ index: Int) throws {
            guard let publisher = live.removeValue(forKey: index) else { return }
            try ingest(index).report(
                .ended(stream: publisher.stream, session: publisher.session, reason: "the history wants it"))
        }

        /// Returns when the node has handled all reports of its ingest about the room.
        func isHeard(_ index: Int) async throws {
            _ = try await ingest(index).publish("demo__witness\(index)")
        }

        mutating func lose(_ index: Int) async throws {
            guard let publisher = live[index], !publisher.isLost else { return }
            live[index]?.isLost = true
            try ingest(index).report(
                .interrupted(stream: publisher.stream, session: publisher.session, reason: "the history wants it"))
            try await isHeard(index)
        }

        /// The node from which the room pulls alice; `nil` if it has no stream of hers.
        func place() async throws -> String? {
            let room = try await nodes[0].store.room("demo")?.document
            return room?.participant("alice")?.streams.first.flatMap { IngestStreamURL($0.url)?.place }
        }

        /// Whether at most one publisher is connected, and the room has that one.
        func isSettled() async throws -> Bool {
            guard connected.count < 2 else { return false }
            guard let index = connected.first else { return true }
            return try await place() == nodes[index].ingestPlace?.text
        }
    }

    @Test(arguments: ["replace", "refuse"]) func onePublisherIsLeft(takeover: String) async throws {
        var random = SeededGenerator(announcedFor: "publishers at three nodes, \(takeover)")
        let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"], "ingest.takeover": [takeover]]
        try await withCluster(settings: settings) { start in
            let nodes = [try await start("a", nil), try await start("b", nil), try await start("c", nil)]
            try await nodes[0].publish("carol", room: "demo")
            var history = History(nodes: nodes)
            for step in 0..<TestLength.of(short: 40, long: 1000) {
                let before = history.connected
                let index = Int.random(in: 0..<3, using: &random)
                let comment: Comment = "step \(step), seed \(random.seed), connected at \(before), node \(index)"
                switch Int.random(in: 0..<8, using: &random) {
                case 0..<4:
                    let verdict = try await history.ingest(index).publish("demo__alice")
                    let isLetIn = history.take(verdict, at: index)
                    #expect(isLetIn == (takeover == "replace" || before.isEmpty), comment)
                case 4:
                    // Two publishers arrive at two nodes at the same time.
                    let other = (index + 1) % 3
                    let (one, two) = (try history.ingest(index), try history.ingest(other))
                    async let first = one.publish("demo__alice")
                    async let second = two.publish("demo__alice")
                    let verdicts = try await (first, second)
                    let areLetIn = [history.take(verdicts.0, at: index), history.take(verdicts.1, at: other)]
                    let count = areLetIn.count { $0 }
                    #expect(count == (takeover == "replace" ? 2 : before.isEmpty ? 1 : 0), comment)
                case 5, 6: try await history.lose(index)
                default:
                    try history.end(index)
                    try await history.isHeard(index)
                }
                try await eventually(comment) {
                    try history.obey()
                    return try await history.isSettled() ? true : nil
                }
            }
            for index in 0..<3 {
                try history.end(index)
                try await history.isHeard(index)
            }
            #expect(try await history.place() == nil, "nobody is left, seed \(random.seed)")
        }
    }
}
