import Foundation
import MixModel
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
            #expect(try await drain(b) == "0")
            #expect(try await drain(a) == "1")
            let new = try await eventually { c.running("auto-demo").first { !$0.isSilent } }
            try await eventually { first.isOver ? true : nil }
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
}
