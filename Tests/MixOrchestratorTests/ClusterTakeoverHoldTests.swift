import Foundation
import MixModel
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Publishers that take one stream over from each other again and again, with scripted ingests that report who sends.
@Suite(.timeLimit(.minutes(3))) struct ClusterTakeoverHoldTests {
    private static let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"]]

    private struct Unexpected: Error {}

    /// A publisher that was let in.
    private struct Admitted {
        let ingest: ScriptedIngest
        let session: String
        let stream: String

        func sends(_ isSending: Bool) {
            ingest.report(.sending(stream: stream, session: session, isSending: isSending))
        }

        /// Returns when the service has had the ingest end the stream.
        func isTakenOver() async throws {
            try await eventually {
                ingest.commands.contains(.takenOver(stream: stream, session: session)) ? true : nil
            }
            ingest.report(.ended(stream: stream, session: session, reason: "another node has it"))
        }
    }

    /// Returns when the node has handled all reports of its ingest. Reports are handled in order, requests included.
    private func isHeard(_ node: ClusterMember) async throws {
        _ = try await node.ingest?.publish("demo__witness-\(node.name)")
    }

    /// Lets a publisher in that begins to send at once.
    private func admit(_ name: String, at node: ClusterMember) async throws -> Admitted {
        let ingest = try #require(node.ingest)
        let verdict = try await ingest.publish(name)
        guard case .allowed(let session, let stream) = verdict else {
            Issue.record("\(verdict)")
            throw Unexpected()
        }
        let publisher = Admitted(ingest: ingest, session: session, stream: stream)
        publisher.sends(true)
        try await isHeard(node)
        return publisher
    }

    /// Returns the reason why a publisher is refused.
    private func refusal(_ name: String, at node: ClusterMember) async throws -> String {
        let verdict = try await node.ingest?.publish(name)
        guard case .refused(let reason)? = verdict else {
            Issue.record("\(node.name): \(String(describing: verdict))")
            throw Unexpected()
        }
        return reason
    }

    @Test func aStreamThatWasTakenOverIsHeld() async throws {
        try await withCluster(settings: Self.settings) { start in
            let node = try await start("a", nil)
            let first = try await admit("demo__alice", at: node)
            try await eventually { node.running("auto-demo").first { $0.plan != nil } }
            let second = try await admit("demo__alice", at: node)
            #expect(first.stream == second.stream)
            // The first one comes back by itself.
            let words = try await refusal("demo__alice", at: node)
            #expect(words.contains("this stream key was taken over ") && words.contains("try again in "), "\(words)")
            let entry = "publisher refused: alice/camera: \(TakeoverHolds.held)"
            try await eventually {
                let timeline = try await node.call("GET", "/v1/tasks/auto-demo/timeline").text
                return timeline.contains(entry) && node.log.text.contains(TakeoverHolds.held) ? true : nil
            }
            #expect(try await node.call("GET", "/v1/rooms/demo").text.contains(#""user":"alice""#))

            // Other streams of the room are not affected, and the holder's connection may be half-open.
            _ = try await admit("demo__dave", at: node)
            second.sends(false)
            let third = try await admit("demo__alice", at: node)
            // Nothing is held after that, until one that sends is replaced again.
            let fourth = try await admit("demo__alice", at: node)
            #expect(third.session != fourth.session)
            _ = try await refusal("demo__alice", at: node)

            // A clean end frees the stream.
            fourth.ingest.report(.ended(stream: fourth.stream, session: fourth.session, reason: "left"))
            _ = try await admit("demo__alice", at: node)
        }
    }

    /// A page that is reloaded twice: the second time, its previous publisher has just fallen silent, which the ingest has not
    /// reported yet.
    @Test func aPublisherWaitsUntilItIsKnownWhetherTheHolderSends() async throws {
        try await withCluster(settings: Self.settings) { start in
            let node = try await start("a", nil)
            _ = try await admit("demo__alice", at: node)
            let second = try await admit("demo__alice", at: node)
            second.ingest.report(
                .ask(
                    IngestRequest(
                        request: 1000, isPublish: true, application: "live", name: "demo__alice", query: "",
                        address: "127.0.0.1", session: "s-1000")))
            second.sends(false)
            let answer = try await eventually {
                second.ingest.commands.first { command in
                    switch command {
                    case .allow(1000, _, _), .refuse(1000, _, _): true
                    default: false
                    }
                }
            }
            #expect(answer == .allow(request: 1000, session: "s-1000", stream: second.stream))
        }
    }

    /// A publisher leaves while it waits, and the holder falls silent: nobody is let in for the one that left.
    @Test func aPublisherThatLeftTakesNothingOver() async throws {
        try await withCluster(settings: Self.settings) { start in
            let node = try await start("a", nil)
            _ = try await admit("demo__alice", at: node)
            let holder = try await admit("demo__alice", at: node)
            for number in [1000, 1001] {
                holder.ingest.report(
                    .ask(
                        IngestRequest(
                            request: number, isPublish: true, application: "live", name: "demo__alice", query: "",
                            address: "127.0.0.1", session: "s-\(number)")))
            }
            holder.ingest.report(.withdrawn(session: "s-1000"))
            holder.sends(false)
            // The second one is decided about after the first one.
            try await eventually {
                holder.ingest.commands.contains(.allow(request: 1001, session: "s-1001", stream: holder.stream))
                    ? true : nil
            }
            let answered = holder.ingest.commands.contains { command in
                switch command {
                case .allow(1000, _, _), .refuse(1000, _, _): true
                default: false
                }
            }
            #expect(!answered)
        }
    }

    /// A client is let in that has left: the ingest reports its end, and the publisher that still has the stream.
    @Test func whoHasTheStreamKeepsItsPlaceInTheRoom() async throws {
        try await withCluster(settings: Self.settings) { start in
            let node = try await start("a", nil)
            let present = try await admit("demo__alice", at: node)
            try await eventually { node.running("auto-demo").first { $0.plan != nil } }
            let verdict = try await present.ingest.publish("demo__alice")
            guard case .allowed(let session, let stream) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            present.ingest.report(
                .ended(
                    stream: stream, session: session, reason: "left before it began",
                    present: IngestStream(
                        stream: stream, session: present.session, isConnected: true, isSending: true)))
            // Work of one room is done in order, so the end has been handled when another publisher is let in.
            _ = try await admit("demo__bob", at: node)
            let room = try await node.call("GET", "/v1/rooms/demo").text
            #expect(room.contains(#""user":"alice""#) && room.contains(#""user":"bob""#), "\(room)")
            // Its own end counts.
            present.ingest.report(.ended(stream: stream, session: present.session, reason: "left"))
            try await eventually {
                try await node.call("GET", "/v1/rooms/demo").text.contains(#""user":"alice""#) ? nil : true
            }
        }
    }

    /// The node that has the publisher knows whether it holds the stream, and every node asks it.
    @Test func aStreamIsHeldAtEveryNode() async throws {
        try await withCluster(settings: Self.settings) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            let c = try await start("c", nil)
            try await a.publish("carol", room: "demo")
            let first = try await admit("demo__alice", at: b)
            let second = try await admit("demo__alice", at: c)
            try await first.isTakenOver()
            for node in [a, b, c] {
                let words = try await refusal("demo__alice", at: node)
                #expect(words.contains("this stream key was taken over "), "\(node.name): \(words)")
            }
            #expect(!second.ingest.commands.contains(.takenOver(stream: second.stream, session: second.session)))

            second.sends(false)
            try await isHeard(c)
            let third = try await admit("demo__alice", at: b)
            try await second.isTakenOver()
            // It has replaced a silent one.
            let fourth = try await admit("demo__alice", at: a)
            try await third.isTakenOver()
            #expect(try await refusal("demo__alice", at: c).contains("this stream key was taken over "))
            #expect(!fourth.ingest.commands.contains(.takenOver(stream: fourth.stream, session: fourth.session)))
        }
    }
}
