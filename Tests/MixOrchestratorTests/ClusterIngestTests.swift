import ChildProcesses
import EventSubscription
import Foundation
import MixModel
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Publishers at the ingest of one node for rooms of another, with scripted ingests and relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterIngestTests {
    private static let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"]]

    private struct Unexpected: Error {}

    /// Publishes, and requires that the ingest admits the publisher.
    private func publish(
        _ name: String, at node: ClusterMember
    ) async throws -> (ingest: ScriptedIngest, session: String, stream: String) {
        let ingest = try #require(node.ingest)
        let verdict = try await ingest.publish(name)
        guard case .allowed(let session, let stream) = verdict else {
            Issue.record("\(verdict)")
            throw Unexpected()
        }
        return (ingest, session, stream)
    }

    private func users(_ room: String, at node: ClusterMember) async throws -> Set<String> {
        struct Room: Decodable {
            struct Participant: Decodable { var user: String }
            var participants: [Participant]
        }
        let answer = try await node.call("GET", "/v1/rooms/\(room)")
        guard answer.status == 200 else { return [] }
        return Set(try JSONDecoder().decode(Room.self, from: Data(answer.text.utf8)).participants.map(\.user))
    }

    /// The source of a plan that is pulled from this node's ingest.
    private func url(of user: String, in plan: ProgramPlan?) -> String? {
        plan?.sources.first { $0.id.rawValue == "\(user)/camera" }?.url
    }

    /// A publisher is stored at the room's node before it may continue, is pulled from its own node, and is reported to
    /// the room's node when it is lost and when it ends.
    @Test func aPublisherReachesARoomOfAnotherNode() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            try await a.publish("carol", room: "demo")
            let relay = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let b = try await start("b", nil)
            let (ingest, session, stream) = try await publish("demo__alice", at: b)
            #expect(try await users("demo", at: a) == ["alice", "carol"], "stored before the publisher goes on")
            let plan = try await eventually { relay.plan?.sources.count == 2 ? relay.plan : nil }
            let place = try #require(b.ingestPlace)
            #expect(url(of: "alice", in: plan)?.hasPrefix("rtmp://\(place.text)/relay/") == true)
            #expect(plan.sourceReach?.places.contains(place.reach) == true, "relays may go there")
            #expect(b.relays.started.isEmpty)

            ingest.report(.interrupted(stream: stream, session: session, reason: "its cable was cut"))
            try await eventually {
                try await a.call("GET", "/v1/tasks/auto-demo/timeline").text
                    .contains("publisher lost: alice/camera: its cable was cut") ? true : nil
            }
            ingest.report(.ended(stream: stream, session: session, reason: "did not come back"))
            try await eventually { try await users("demo", at: a) == ["carol"] ? true : nil }

            let dave = try await publish("demo__dave", at: b)
            let words = "audio codec Opus is not supported"
            ingest.report(.ended(stream: dave.stream, session: dave.session, reason: words, isRefused: true))
            try await eventually {
                try await a.call("GET", "/v1/tasks/auto-demo/timeline").text
                    .contains("publisher refused: dave/camera: \(words)") ? true : nil
            }
            try await eventually { try await users("demo", at: a) == ["carol"] ? true : nil }
            for node in [a, b] { #expect(!node.log.text.contains("relay="), "a log shows a code") }
        }
    }

    /// Workers that publish, such as that of a WHIP publisher, use their own node's ingest, wherever the room is.
    @Test func workersPublishIntoRoomsOfOtherNodes() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("carol", room: "demo")
            let key = IngestStreamKey(StreamNames(room: "demo", user: "bob", stream: .camera))
            let url = try key.publishingURL(
                of: IngestRules(host: "127.0.0.1", port: 1935), secret: IngestFiles(data: b.data).secret())
            let parts = try #require(url.splitAtFirst("?"))
            let path = parts.head.split(separator: "/").dropFirst(2)
            let verdict = try await b.ingest?.publish(
                "\(path.last ?? "")", to: path.dropLast().joined(separator: "/"), query: String(parts.tail))
            guard case .allowed = verdict else {
                Issue.record("\(verdict.debugDescription)")
                return
            }
            #expect(try await users("demo", at: a) == ["bob", "carol"])
        }
    }

    /// A page stays at its node when its room moves, and ends there when its stream ends in the room.
    @Test(.enabled(if: PagePrograms.missing.isEmpty)) func aPageEndsWithItsStreamWhereverTheRoomIs() async throws {
        try await withDirectory { directory in
            try await withCluster(settings: ScriptedPageWorker.settings(in: directory)) { start in
                let a = try await start("a", nil)
                let b = try await start("b", nil)
                let page = #"{"type":"stream.published","user":"board","kind":"page","url":"http://127.0.0.1:8000/"}"#
                #expect(try await a.call("POST", "/v1/rooms/demo/events", page).status == 202)
                let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
                old.setPlace(ProgramPlace(wallZero: 1_700_000_000, noted: .seconds(30), ahead: .milliseconds(40)))
                try await eventually { ScriptedPageWorker.openers(in: directory).isEmpty ? nil : true }
                #expect(try await a.call("POST", "/v1/node/drain").value("moved") == "1")
                let new = try await eventually { b.running("auto-demo").first { !$0.isSilent } }
                let place = try #require(a.ingestPlace)
                #expect(url(of: "board", in: new.plan)?.hasPrefix("rtmp://\(place.text)/relay/") == true)
                func isTold(_ word: String) -> Bool {
                    ScriptedPageWorker.told(in: directory).contains { $0.command.contains("\"\(word)\"") }
                }
                // The node looks twice at rooms of other nodes in this time.
                try await Task.sleep(for: .seconds(2.2))
                #expect(!isTold("terminate"))
                let end = #"{"type":"stream.unpublished","user":"board"}"#
                #expect(try await b.call("POST", "/v1/rooms/demo/events", end).status == 202)
                try await eventually { isTold("terminate") ? true : nil }
                #expect(ScriptedPageWorker.openers(in: directory).count == 1)
            }
        }
    }

    /// A publisher that arrives while the room moves is admitted, and the room's next node continues with the present
    /// publishers.
    @Test func aRoomThatMovesKeepsItsPublishers() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            try await a.publish("carol", room: "demo")
            let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            old.setPlace(ProgramPlace(wallZero: 1_700_000_000, noted: .seconds(30), ahead: .milliseconds(40)))
            let (ingest, session, stream) = try await publish("demo__alice", at: b)
            try await eventually { old.plan?.sources.count == 2 ? true : nil }
            // Rooms move to the third node; a draining node keeps its ingest.
            #expect(try await b.call("POST", "/v1/node/drain").status == 200)
            async let drained = a.call("POST", "/v1/node/drain")
            for number in 0..<10 { _ = try await publish("demo__u\(number)", at: b) }
            #expect(try await drained.value("moved") == "1")
            let new = try await eventually { c.running("auto-demo").first { !$0.isSilent } }
            let plan = try await eventually { new.plan?.sources.count == 12 ? new.plan : nil }
            let place = try #require(b.ingestPlace)
            #expect(url(of: "alice", in: plan)?.hasPrefix("rtmp://\(place.text)/relay/") == true)
            #expect(plan.sourceReach?.places.contains(place.reach) == true)
            ingest.report(.ended(stream: stream, session: session, reason: "left"))
            try await eventually { try await users("demo", at: c).contains("alice") ? nil : true }
            let others = ingest.commands.count { if case .allow = $0 { true } else { false } }
            #expect(others == 11, "each is let in once")
        }
    }

    /// A drain asks the publishers of its own ingest to reconnect, and waits for those that do.
    @Test func aDrainAsksPublishersToReconnect() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let ingest = try #require(a.ingest)
            try await eventually { ingest.commands.contains(.hello(version: IngestCommand.version)) ? true : nil }
            async let drained = a.call("POST", "/v1/node/drain")
            try await eventually {
                ingest.commands.contains { if case .reconnect = $0 { true } else { false } } ? true : nil
            }
            ingest.report(.reconnecting(publishers: 1))
            ingest.report(.reconnecting(publishers: 0))
            #expect(try await drained.status == 200)
            let isAsked = b.ingest?.commands.contains { if case .reconnect = $0 { true } else { false } }
            #expect(isAsked == false, "only those of the node that ends")
        }
    }

    /// A publisher that reconnects at another node before the first ingest has given up on it stays in the room.
    @Test func theEndOfAnEarlierPlaceChangesNothing() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            try await a.publish("carol", room: "demo")
            let relay = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let first = try await publish("demo__alice", at: b)
            let second = try await publish("demo__alice", at: c)
            first.ingest.report(.ended(stream: first.stream, session: first.session, reason: "did not come back"))
            // The next report of the same lane is stored after this one.
            _ = try await publish("demo__bob", at: b)
            #expect(try await users("demo", at: a) == ["alice", "bob", "carol"])
            let place = try #require(c.ingestPlace)
            try await eventually {
                url(of: "alice", in: relay.plan)?.hasPrefix("rtmp://\(place.text)/relay/") == true ? true : nil
            }
            second.ingest.report(.ended(stream: second.stream, session: second.session, reason: "left"))
            try await eventually { try await users("demo", at: a) == ["bob", "carol"] ? true : nil }
        }
    }

    /// An ingest that other nodes cannot reach serves rooms of its own node only.
    @Test func aLoopbackIngestIsTheNodesOwn() async throws {
        try await withCluster(settings: Self.settings, sharesIngests: false) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("carol", room: "demo")
            let ingest = try #require(b.ingest)
            guard case .refused(let words) = try await ingest.publish("demo__alice") else {
                Issue.record("it is let in")
                return
            }
            #expect(words.contains("Another node has the room") && words.contains("demo is on the node a"), "\(words)")
            #expect(b.ingestPlace == nil)
            _ = try await publish("own__alice", at: b)
            #expect(try await users("own", at: a) == ["alice"])
        }
    }

    /// Only nodes may report streams.
    @Test func ordersNeedTheKeyOfTheNode() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let order = #"{"note":{"_0":"demo","_1":"x"}}"#
            #expect(try await a.call("POST", "/v1/node/streams", order).status == 404)
            let answer = try await a.call(
                "POST", "/v1/node/streams", order, headers: ["Mixorchestrator-Node-Key": "guessed"])
            #expect(answer.status == 403, "\(answer.text)")
        }
    }
}
