import Foundation
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Publishers of one stream at the ingests of several nodes, with scripted ingests and relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterTakeoverTests {
    private static let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"]]
    private static let refusing = settings.merging(["ingest.takeover": ["refuse"]]) { $1 }
    private static let occupied = "another publisher is live with this stream key"

    private struct Unexpected: Error {}

    /// An admitted publisher.
    private struct Admitted {
        let ingest: ScriptedIngest
        let session: String
        let stream: String

        /// Returns when the service has had the ingest end the stream.
        func isTakenOver() async throws {
            try await eventually {
                ingest.commands.contains(.takenOver(stream: stream, session: session)) ? true : nil
            }
            ingest.report(.ended(stream: stream, session: session, reason: "another node has it"))
        }
    }

    private func admit(_ name: String, at node: ClusterMember, isOutput: Bool? = nil) async throws -> Admitted {
        let ingest = try #require(node.ingest)
        let verdict = try await ingest.publish(name, isOutput: isOutput)
        guard case .allowed(let session, let stream) = verdict else {
            Issue.record("\(verdict)")
            throw Unexpected()
        }
        return Admitted(ingest: ingest, session: session, stream: stream)
    }

    private func isRefused(_ name: String, at node: ClusterMember, isOutput: Bool? = nil) async throws -> String? {
        let verdict = try await node.ingest?.publish(name, isOutput: isOutput)
        guard case .refused(let reason)? = verdict else { return nil }
        return reason
    }

    /// Returns when the node has refused a second publisher because the first one is live.
    ///
    /// A node also refuses the second publisher, in other words, when the first one's node does not answer in time.
    private func isOccupied(_ name: String, at node: ClusterMember) async throws {
        try await eventually("\(node.name) does not say that \(name) is live") {
            let refusal = try await isRefused(name, at: node)
            let reason = try #require(refusal, "\(node.name) lets a second publisher in")
            return reason == Self.occupied ? true : nil
        }
    }

    /// Returns when the room's relay pulls alice's camera, and nothing else of hers, from this node.
    private func pulls(_ relay: ScriptedRelay, from node: ClusterMember) async throws {
        let place = try #require(node.ingestPlace)
        try await eventually("\(place.text) in \(String(describing: relay.plan?.sources.map(\.url)))") {
            let urls = relay.plan?.sources.filter { $0.id.rawValue.hasPrefix("alice/") }.map(\.url) ?? []
            return urls.count == 1 && urls[0].hasPrefix("rtmp://\(place.text)/relay/") ? true : nil
        }
    }

    /// One publisher remains, wherever the room is and in both directions; the ingests of the others are told to end
    /// them.
    @Test func whoComesToAnotherNodeTakesThePlace() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            try await a.publish("carol", room: "demo")
            let relay = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            var last = try await admit("demo__alice", at: b)
            for node in [c, a, b, c] {
                let next = try await admit("demo__alice", at: node)
                try await last.isTakenOver()
                try await pulls(relay, from: node)
                last = next
            }
            // The remaining publisher is not ended, and its end is the end of the stream.
            for node in [a, b] { #expect(try await node.call("GET", "/v1/rooms/demo").text.contains("alice")) }
            #expect(!last.ingest.commands.contains(.takenOver(stream: last.stream, session: last.session)))
            last.ingest.report(.ended(stream: last.stream, session: last.session, reason: "left"))
            try await eventually {
                try await a.call("GET", "/v1/rooms/demo").text.contains(#""user":"alice""#) ? nil : true
            }
            for node in [a, b, c] { #expect(!node.log.text.contains("relay="), "a log shows a code") }
        }
    }

    /// With `takeover: refuse` every node refuses the second publisher while the first is connected. A publisher that
    /// has lost its connection may come back at any node.
    @Test func theSecondIsRefusedByAnyNode() async throws {
        try await withCluster(settings: Self.refusing) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            try await a.publish("carol", room: "demo")
            let relay = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let first = try await admit("demo__alice", at: b)
            for node in [a, b, c] { try await isOccupied("demo__alice", at: node) }
            try await pulls(relay, from: b)
            #expect(!first.ingest.commands.contains(.takenOver(stream: first.stream, session: first.session)))

            first.ingest.report(.interrupted(stream: first.stream, session: first.session, reason: "its cable was cut"))
            let second = try await eventually { () async throws -> Admitted? in
                // The report of the end and the next publisher take different ways.
                if case .allowed(let session, let stream)? = try await c.ingest?.publish("demo__alice") {
                    return try Admitted(ingest: #require(c.ingest), session: session, stream: stream)
                }
                return nil
            }
            try await first.isTakenOver()
            try await pulls(relay, from: c)
            for node in [a, b] { try await isOccupied("demo__alice", at: node) }
            #expect(!second.ingest.commands.contains(.takenOver(stream: second.stream, session: second.session)))

            // A stopped node has no publishers.
            try await c.stop()
            _ = try await admit("demo__alice", at: b)
            try await pulls(relay, from: b)
        }
    }

    /// After a reconnection, an ingest repeats requests that the service has decided meanwhile.
    @Test(arguments: [false, true]) func whoAsksAgainIsTheSamePublisher(refuses: Bool) async throws {
        try await withCluster(settings: refuses ? Self.refusing : Self.settings) { start in
            let node = try await start("a", nil)
            let alice = try await admit("demo__alice", at: node)
            alice.ingest.report(
                .ask(
                    IngestRequest(
                        request: 1, isPublish: true, application: "live", name: "demo__alice", query: "",
                        address: "127.0.0.1", session: alice.session)))
            let answers = try await eventually { () -> [IngestCommand]? in
                let answers = alice.ingest.commands.filter { command in
                    switch command {
                    case .allow(1, _, _), .refuse(1, _, _): true
                    default: false
                    }
                }
                return answers.count == 2 ? answers : nil
            }
            let allowed = IngestCommand.allow(request: 1, session: alice.session, stream: alice.stream)
            #expect(answers == [allowed, allowed])
            #expect(try await node.call("GET", "/v1/rooms/demo").text.contains(#""user":"alice""#))
            // Its end is still that of the stream.
            alice.ingest.report(.ended(stream: alice.stream, session: alice.session, reason: "left"))
            try await eventually {
                try await node.call("GET", "/v1/rooms/demo").text.contains(#""user":"alice""#) ? nil : true
            }
        }
    }

    /// The timeline names a publisher that takes the place of a connected one, because OBS does not read statuses while it
    /// publishes. A publisher that returns after a lost connection replaces no other.
    @Test func aReplacedPublisherIsInTheTimeline() async throws {
        try await withCluster(settings: Self.settings) { start in
            let node = try await start("a", nil)
            let timeline = { try await node.call("GET", "/v1/tasks/auto-demo/timeline").text }
            let first = try await admit("demo__alice", at: node)
            try await eventually { node.running("auto-demo").first { $0.plan != nil } }
            let second = try await admit("demo__alice", at: node)
            #expect(first.stream == second.stream && first.session != second.session)
            let words = "publisher replaced: alice/camera: \(IngestStream.takenOver)"
            try await eventually { try await timeline().contains(words) ? true : nil }
            #expect(node.log.text.contains(IngestStream.takenOver))

            let dave = try await admit("demo__dave", at: node)
            dave.ingest.report(.interrupted(stream: dave.stream, session: dave.session, reason: "its cable was cut"))
            try await eventually { try await timeline().contains("publisher lost: dave/camera") ? true : nil }
            _ = try await admit("demo__dave", at: node)
            #expect(try await !timeline().contains("publisher replaced: dave"))
        }
    }

    /// One of many publishers that arrive at all nodes at the same time is admitted.
    @Test func ofManyAtOnceOneIsLetIn() async throws {
        try await withCluster(settings: Self.refusing) { start in
            let nodes = [try await start("a", nil), try await start("b", nil), try await start("c", nil)]
            try await nodes[0].publish("carol", room: "demo")
            for round in 0..<10 {
                let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for node in nodes {
                        group.addTask {
                            guard case .allowed? = try await node.ingest?.publish("demo__u\(round)") else {
                                return false
                            }
                            return true
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(admitted == 1)
            }
        }
    }

    /// A node that does not answer keeps its publishers' places until its lease has run out, and no longer.
    @Test func aLostNodeBlocksNoNameForLongerThanItsLease() async throws {
        let lease = Duration.seconds(3)
        try await withCluster(lease: lease, settings: Self.refusing) { start in
            let a = try await start("a", nil)
            let begin = ContinuousClock.now
            // No server listens at this node's address, and its lease is not renewed.
            let id = try await a.store.register("ghost", for: lease)
            try await a.store.announce(
                id, NodeProfile(name: "ghost", url: "http://127.0.0.1:9", key: "k", ingest: "127.0.0.1:9"))
            let url = "rtmp://127.0.0.1:9/relay/default/demo/alice/camera?relay=x"
            let event = #"{"type":"stream.published","user":"alice","url":"\#(url)"}"#
            #expect(try await a.call("POST", "/v1/rooms/demo/events", event).status == 202)
            let words = try #require(try await isRefused("demo__alice", at: a))
            #expect(words.contains("the node ghost does not answer"), "\(words)")
            try await eventually { try await isRefused("demo__alice", at: a) == nil ? true : nil }
            let time = ContinuousClock.now - begin
            #expect(lease - .milliseconds(500) < time && time < lease + .seconds(8), "\(time)")
        }
    }

    /// A program that is published into its own room is refused at every node's ingest, directly and through another
    /// room.
    @Test func programsDoNotComeBackThroughOtherNodes() async throws {
        let allowed = ["outputs.allow": ["rtmp://127.0.0.1", "rtmp://ingest.example"]]
        try await withCluster(settings: Self.settings.merging(allowed) { $1 }) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            func outputs(_ names: [String]) -> String {
                let all = names.enumerated().map { number, name in
                    #"{"id":"o\#(number)","url":"rtmp://ingest.example/live/\#(name)"}"#
                }
                return #"{"outputs":[\#(all.joined(separator: ","))]}"#
            }
            #expect(try await a.call("PUT", "/v1/rooms/demo", outputs(["demo__loop", "other__demo"])).status == 201)
            #expect(try await b.call("PUT", "/v1/rooms/other", outputs(["demo__other", "third__other"])).status == 201)
            for node in [a, b, c] {
                let words = try await isRefused("demo__loop", at: node, isOutput: true)
                #expect(words?.contains("this is the room's own program") == true, "\(node.name): \(words ?? "let in")")
            }
            // A publisher that is no relay is not treated as one.
            _ = try await admit("demo__loop", at: c)
            let program = try await admit("other__demo", at: c, isOutput: true)
            for node in [a, b, c] {
                let words = try await isRefused("demo__other", at: node, isOutput: true)
                #expect(words?.contains("this is the room's own program") == true, "\(node.name): \(words ?? "let in")")
            }
            _ = try await admit("third__other", at: a, isOutput: true)
            // The loop is open once the first program has ended.
            program.ingest.report(.ended(stream: program.stream, session: program.session, reason: "left"))
            try await eventually { try await isRefused("demo__other", at: b, isOutput: true) == nil ? true : nil }
        }
    }
}
