import Foundation
import MixModel
import TaskStore
import Testing
import EncodedMedia

/// A starting service finds and handles the remains of an earlier run. The processes are real; there are no media.
@Suite(.serialized) struct RestartTests {
    @Test(.timeLimit(.minutes(4))) func whatChangedMeanwhileIsAppliedToTheSameRelay() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relays = stage.relays
            #expect(relays["auto-a"]?.count == 1)

            try await stage.kill()
            #expect(stage.relays == relays, "the relay went with the service")
            // The change is stored as by another process.
            try await stage.withStore { store in
                var room = try #require(try await store.room("a"))
                room.document.settings.outputs?.append(
                    PushDestination(id: "second", url: "\(ControlStage.nowhere)/a/second"))
                let change = StoreChange(room: .put(room.document, expected: room.version))
                #expect(try await store.commit(change) == .committed)
            }
            #expect(try await stage.start())
            let state = try await stage.settled("auto-a")
            #expect((state["outputs"] as? [any Sendable])?.count == 2)
            #expect(stage.relays == relays, "the relay was started again")
        }
    }

    /// Returns another configuration: rooms get other outputs, and a room without any gets a task.
    @Test(.timeLimit(.minutes(4))) func anotherConfigurationIsApplied() async throws {
        func outputs(_ name: String) -> [String: String] {
            ["MIXORCHESTRATOR_ROOMS_OUTPUTS": "\(ControlStage.nowhere)/\(name)/{room}"]
        }
        try await ControlStage.run { stage in
            let answer = try await stage.client.request(
                "PUT", "/v1/rooms/a", json: "{\(ControlStage.canvas)}")
            #expect(answer.status == 201, "\(answer.text)")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            #expect(stage.relays.isEmpty)
            await stage.service.stop()
            #expect(try await stage.start(environment: outputs("one"), arguments: ["--keep-relays"]))
            try await stage.settled("auto-a")
            let relays = stage.relays
            await stage.service.stop()
            #expect(stage.relays == relays, "with --keep-relays they stay")
            #expect(try await stage.start(environment: outputs("two")))
            try await waitUntil("the other outputs are applied") {
                let state = try await stage.settled("auto-a")
                return "\(state["outputs"] ?? "")".contains("127.0.0.1:1/two")
            }
            #expect(stage.relays == relays)
            await stage.service.stop(within: 30)
            #expect(stage.service.exitStatus == 0)
            // A relay that the service took over closes its connection and ends a moment later. An orphan would
            // continue.
            try await waitUntil("without --keep-relays they end") { stage.relays.isEmpty }
        }
    }

    /// The store was lost, so no service knows the task, and its program must not continue for ever.
    @Test(.timeLimit(.minutes(4))) func aRelayThatNoTaskWantsIsDrained() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            try await stage.kill()
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(
                    at: stage.data.appendingPathComponent("orchestrator.sqlite\(suffix)"))
            }
            #expect(stage.relays.count == 1)
            #expect(try await stage.start())
            try await waitUntil("the relay has ended") { stage.relays.isEmpty }
            #expect(stage.service.messages(last: .max).contains("an orphaned relay is drained"))
            #expect(try await stage.client.request("GET", "/v1/tasks/auto-a").status == 404)
            // The room can start again at once.
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            #expect(stage.relays["auto-a"]?.count == 1)
        }
    }

    /// Deletes the room `a` and its task, as another process does.
    private static func deleteRoom(from store: any TaskStore) async throws {
        let room = try #require(try await store.room("a"))
        let task = try #require(try await store.task("auto-a"))
        let change = StoreChange(
            room: .delete(id: "a", expected: room.version),
            tasks: [.init(id: "auto-a", write: .delete(id: "auto-a", expected: task.version))])
        #expect(try await store.commit(change) == .committed)
    }

    /// The task ended while no service could tell its relay.
    @Test(.timeLimit(.minutes(4))) func theRelayOfADeletedTaskIsDrained() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            try await stage.kill()
            try await stage.withStore(Self.deleteRoom(from:))
            #expect(stage.relays.count == 1)
            #expect(try await stage.start())
            try await waitUntil("the relay has ended") { stage.relays.isEmpty }
            #expect(try await stage.client.request("GET", "/v1/rooms/a").status == 404)
        }
    }

    @Test(.timeLimit(.minutes(4))) func anOrphanEndsItselfAndIsStartedAgain() async throws {
        try await ControlStage.run(environment: ["MIXORCHESTRATOR_RELAY_ORPHAN_TIMEOUT": "1"]) { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let orphan = try #require(stage.relays["auto-a"]?.first)
            // The file stays while the service runs.
            try await Task.sleep(for: .seconds(2))
            #expect(stage.relays["auto-a"] == [orphan])
            try await stage.kill()
            try await waitUntil("the orphan has ended") { stage.relays.isEmpty }
            #expect(try await stage.start())
            try await stage.settled("auto-a")
            let successor = try #require(stage.relays["auto-a"]?.first)
            #expect(successor != orphan)
        }
    }

    /// The clock of a program outlives its relay and the service, but not the program.
    @Test(.timeLimit(.minutes(4))) func theClockOfAProgramEndsWithIt() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let clock = stage.data.appendingPathComponent("relays/auto-a.clock")
            let log = stage.data.appendingPathComponent("relays/auto-a.log")
            func continuations() throws -> Int {
                try String(contentsOf: log, encoding: .utf8).components(separatedBy: "continues the program").count - 1
            }
            // The file is written as by a relay with media.
            let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8).prefix(36)
            let text = #"{"boot":"\#(boot)","zero":1,"wallZero":0,"noted":1000000000,"ahead":50000000}"#
            try text.write(to: clock, atomically: true, encoding: .utf8)
            kill(try #require(stage.relays["auto-a"]?.first), SIGKILL)
            try await waitUntil("another relay continues") { try continuations() == 1 }
            try await stage.settled("auto-a")

            // The service has to start another relay by itself.
            try await stage.kill()
            kill(try #require(stage.relays["auto-a"]?.first), SIGKILL)
            try await waitUntil("the relay is gone", every: 5) { stage.relays["auto-a"] == nil }
            #expect(try await stage.start())
            try await stage.settled("auto-a")
            try await waitUntil("the next relay continues") { try continuations() == 2 }

            // The room ends while it has no relay.
            try await stage.kill()
            kill(try #require(stage.relays["auto-a"]?.first), SIGKILL)
            try await stage.withStore(Self.deleteRoom(from:))
            #expect(try await stage.start())
            try await waitUntil("the clock is gone") { access(clock.path, F_OK) != 0 }

            // A program that ends in order leaves no file either.
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            #expect(try continuations() == 2)
            try text.write(to: clock, atomically: true, encoding: .utf8)
            try await stage.client.deleteRoom("a")
            try await waitUntil("the clock is gone") { access(clock.path, F_OK) != 0 }
        }
    }

    /// A hung relay holds its sockets and outputs, and no longer answers, not even a command to end.
    @Test(.timeLimit(.minutes(4))) func aRelayThatHangsIsReplaced() async throws {
        try await ControlStage.run { stage in
            for room in ["a", "b"] {
                try await stage.makeRoom(room)
                try await stage.client.published(room, user: "alice", url: "\(ControlStage.nowhere)/live/alice")
                try await stage.settled("auto-\(room)")
            }
            let hung = try #require(stage.relays["auto-a"]?.first)
            let neighbour = stage.relays["auto-b"]
            kill(hung, SIGSTOP)
            try await waitUntil("another relay took the place of \(hung)") {
                stage.relays["auto-a"].map { $0.count == 1 && $0 != [hung] } ?? false
            }
            try await waitUntil("the task names the other relay") {
                let state = try await stage.settled("auto-a")
                return stage.relays["auto-a"] == [state["relayProcess"] as? Int].compactMap { $0.map(Int32.init) }
            }
            #expect(stage.relays["auto-b"] == neighbour, "the neighbour's relay was started again")
            #expect(stage.service.messages(last: .max).contains("relay hangs and is being killed"))
            var timeline = ""
            try await waitUntil("the timeline tells of it: \(timeline)") {
                timeline = try await stage.client.request("GET", "/v1/tasks/auto-a/timeline").text
                return timeline.contains("relay hung (no status for 3 s, in which it did not run) and was killed")
            }
        }
    }

    /// The file names an unrelated process, another task's relay, a process that does not exist, or nothing.
    @Test(.timeLimit(.minutes(4))) func aProcessFileThatLiesIsHarmless() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.makeRoom("b")
            for room in ["a", "b"] {
                try await stage.client.published(room, user: "alice", url: "\(ControlStage.nowhere)/live/alice")
                try await stage.settled("auto-\(room)")
            }
            let bystander = try ManagedProcess("bystander", "sleep", ["600"], in: stage.directory)
            let neighbour = try #require(stage.relays["auto-b"]?.first)
            let file = stage.data.appendingPathComponent("relays/auto-a.pid")
            for text in ["\(bystander.identifier)\n", "\(neighbour)\n", "999999999\n", "-1\n", "a\0b", ""] {
                let relay = try #require(stage.relays["auto-a"]?.first)
                try await stage.kill()
                try text.write(to: file, atomically: true, encoding: .utf8)
                kill(relay, SIGKILL)
                try await waitUntil("the relay is gone", every: 5) { stage.relays["auto-a"] == nil }
                #expect(try await stage.start())
                try await stage.settled("auto-a")
                try await stage.settled("auto-b")
                #expect(stage.relays["auto-a"]?.count == 1)
                #expect(stage.relays["auto-b"] == [neighbour], "named \(text.debugDescription)")
                #expect(bystander.isRunning, "named \(text.debugDescription)")
            }
            await bystander.stop()
        }
    }
}
