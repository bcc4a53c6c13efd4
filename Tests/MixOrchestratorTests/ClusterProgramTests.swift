import Foundation
import MixModel
import NIOCore
import NIOPosix
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Players of programs at nodes that do not have the room, with scripted ingests and relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterProgramTests {
    private static let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"]]

    /// Whether a picture with this timestamp has come.
    private func has(_ timestamp: UInt32, _ reader: ProgramReader) -> Bool? {
        let tags = (try? ScriptedProgram.scanned(reader.bytes)) ?? []
        return tags.contains { $0.name == "P\(timestamp)" } ? true : nil
    }

    private func drain(_ node: ClusterMember) async throws -> String? {
        try await node.call("POST", "/v1/node/drain").value("moved")
    }

    /// Read once from the room's node, and from its next node after a move, until the room is here.
    @Test func aPlayerOverRTMPReachesAnyNode() async throws {
        try await withCluster(settings: Self.settings) { start in
            let (a, b, c) = (try await start("a", nil), try await start("b", nil), try await start("c", nil))
            try await a.publish("carol", room: "demo")
            let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let ingest = try #require(b.ingest)
            let command = try await ingest.play("demo", of: "program")
            guard case .allowProgram(_, _, let task, let socket, let way) = command, let detour = way else {
                Issue.record("\(command)")
                return
            }
            #expect(task == "auto-demo" && socket == b.data + "/relays/auto-demo.sock")
            #expect(
                detour == ProgramDetour(socket: b.data + "/programs/programs.sock", task: "auto-demo", room: "demo"))
            guard case .refuse(_, true, let words) = try await ingest.play("nobody", of: "program") else {
                Issue.record("a room without a program is played")
                return
            }
            #expect(words.contains("no program"))

            let first = try await ProgramReader.open(detour)
            try await eventually { old.viewerCount == 1 ? true : nil }
            old.sendToViewers(ScriptedProgram.picture(1040))
            try await eventually { has(1040, first) }
            first.send(#"{"requestKeyframe":{}}"#)
            try await eventually { old.commands.contains(.requestKeyframe) ? true : nil }

            // Rooms go to the third node.
            c.relays.setOpening(ScriptedProgram.opening(at: 2000))
            #expect(try await drain(b) == "0")
            #expect(try await drain(a) == "1")
            let new = try await eventually { c.running("auto-demo").first { !$0.isSilent } }
            try await eventually { first.isOver ? true : nil }
            let seen = try ScriptedProgram.scanned(first.bytes)
            #expect(seen.allSatisfy { $0.timestamp < 2000 }, "the first node passes nothing on from the third")
            let second = try await ProgramReader.open(detour)
            try await eventually { new.viewerCount > 0 && !second.bytes.isEmpty ? true : nil }
            new.sendToViewers(ScriptedProgram.picture(2040))
            try await eventually { has(2040, second) }

            #expect(try await b.call("DELETE", "/v1/node/drain").status == 204)
            #expect(try await drain(c) == "1")
            try await eventually { b.running("auto-demo").first { !$0.isSilent } }
            try await eventually { second.isOver ? true : nil }
            let third = try await ProgramReader.open(detour)
            try await eventually { third.isOver ? true : nil }
            #expect(third.bytes.isEmpty, "the worker reads its own relay")
        }
    }

    @Test func aRefusalOfTheOtherNodeIsLogged() async throws {
        try await withCluster(settings: ["playback.maxViewers": ["1"]]) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await a.publish("carol", room: "demo")
            try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let body = try await a.body(of: "/live/demo.flv")
            let viewer = Task { for try await _ in body {} }
            let reader = try await ProgramReader.open(
                ProgramDetour(socket: b.data + "/programs/programs.sock", task: "auto-demo", room: "demo"))
            try await eventually { reader.isOver ? true : nil }
            #expect(b.log.text.contains("the node a answers 503"), "\(b.log.text)")
            viewer.cancel()
            _ = await viewer.result
        }
    }

    /// A node limits its own viewers, and all of them together are one client of the room's node.
    @Test func nodesAreNotLimitedLikeOneViewer() async throws {
        try await withCluster(settings: ["http.rate.requests": ["1"]]) { start in
            let a = try await start("a", nil)
            let key = try #require(try await a.store.roster().first?.profile?.key)
            func read(_ key: String) async throws -> Int {
                try await a.call(
                    "GET", "/live/demo.flv",
                    headers: ["Mixorchestrator-Node-Key": key, "Mixorchestrator-Carried": "1"]
                ).status
            }
            try await eventually("viewers are not limited") { try await read("guessed") == 429 ? true : nil }
            for _ in 0..<20 { #expect(try await read(key) == 404) }
        }
    }

    /// A node that stands still accepts requests and does not answer. Its program is given up when another node has the room.
    @Test func aNodeThatStandsStillIsNotWaitedFor() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        let silent = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                request.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { silent.close(promise: nil) }
        let port = try #require(silent.localAddress?.port)
        try await withCluster { start in
            let a = try await start("a", nil)
            let lost = try await a.store.register("lost", for: .seconds(600))
            let next = try await a.store.register("next", for: .seconds(600))
            try await a.store.announce(
                lost, NodeProfile(name: "lost", url: "http://127.0.0.1:\(port)", key: "key of lost"))
            try await a.store.announce(next, NodeProfile(name: "next", url: "http://127.0.0.1:9", key: "key of next"))
            let leases = try await a.store.claim([.lease(of: "demo")], by: lost, for: .seconds(600))
            let lease = try #require(leases.first)
            let reader = try await ProgramReader.open(
                ProgramDetour(socket: a.data + "/programs/programs.sock", task: "auto-demo", room: "demo"))
            for await _ in requests { break }
            #expect(!reader.isOver)
            guard case .passed = try await a.store.pass(lease, to: next) else {
                Issue.record("the room stays")
                return
            }
            try await eventually { reader.isOver ? true : nil }
            #expect(reader.bytes.isEmpty)
        }
    }
}
