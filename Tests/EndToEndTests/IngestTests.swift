import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// Publishers of the service's own RTMP server: no app server, no events, and no media server except the destination.
@Suite(.serialized) struct IngestTests {
    /// - Parameter grace: Time in seconds for which the place of a lost publisher is kept.
    static func environment(_ port: Int, grace: Int = 20) -> [String: String] {
        ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_INGEST_GRACE": "\(grace)"]
    }

    /// Returns the settings of a small publisher: its pictures are counted, not inspected.
    static func source(_ id: Int) -> SyntheticPublisher {
        SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1)
    }

    static func publish(_ user: String, _ id: Int, _ port: Int, _ stage: Stage) throws -> ManagedProcess {
        try ManagedProcess(
            "publisher-\(user)-\(UInt16.random(in: 0...9999))", "ffmpeg",
            source(id).arguments(url: "rtmp://127.0.0.1:\(port)/live/\(stage.room)__\(user)"), in: stage.directory)
    }

    /// Returns the process of the ingest; it outlives the service.
    static func ingest(_ stage: Stage) -> Int32? {
        let data = stage.directory.appendingPathComponent("data/ingest").path
        return ProcessTable.entries().first { entry in
            entry.arguments.contains("ingest") && entry.arguments.contains { $0.hasPrefix(data) }
        }?.identifier
    }

    /// Returns when publishers can connect.
    static func waitForIngest(_ stage: Stage, _ port: Int) async throws {
        try await waitUntil("the ingest listens\n\(stage.service.messages())") {
            ingest(stage) != nil && HookingMediaServer.isServed(port)
        }
    }

    /// Gives the room a destination, and returns when publishers can connect.
    static func prepare(_ stage: Stage, _ port: Int) async throws {
        let settings =
            #"{"outputs": [{"id": "cdn", "url": "\#(stage.media.cdn(stage.room))"}], "layout": "side-by-side"}"#
        #expect(try await stage.client.request("PUT", "/v1/rooms/\(stage.room)", json: settings).status < 300)
        try await waitForIngest(stage, port)
    }

    @Test(.timeLimit(.minutes(20))) func publishingIsAllThatIsNeeded() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            try await Self.prepare(stage, port)
            let ingest = try #require(Self.ingest(stage))
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            var bob = try Self.publish("bob", 2, port, stage)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let player = try await stage.record("http://127.0.0.1:\(client.port)/live/\(stage.room).flv", as: "flv")
            let viewer = try await stage.watch()

            // The publisher is killed without closing and back within the grace period: it has the same pane, with its
            // last picture or its card meanwhile, and no destination is affected.
            try await viewer.receive(pictures: 20)
            let panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
            let begin = Int64(viewer.progress.timestamp)
            bob.kill9()
            try await waitUntil("bob's process is gone") { !bob.isRunning }
            try await Task.sleep(for: .seconds(1))
            #expect(try await stage.client.users(stage.room) == ["alice", "bob"], "the place is kept")
            #expect(try await client.task(stage.room)?.state.panes == panes, "the pane is kept")
            try await waitUntil("bob's stream has stalled") { try await Self.state(of: "bob", stage) != "live" }
            bob = try Self.publish("bob", 2, port, stage)
            try await waitUntil("bob is live again") { try await Self.state(of: "bob", stage) == "live" }
            try await waitUntil("bob has no error") { try await client.streamErrors(stage.room).isEmpty }
            try await Task.sleep(for: .seconds(3))
            try await viewer.receive(pictures: 60)
            let before = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let end = Int64(viewer.progress.timestamp)
            #expect(before.panes == panes, "\(before.panes), before \(panes)")
            #expect(before.outputs.map(\.reconnects) == [0], "\(before.outputs)")

            // The service is killed: publishers stay connected, and its successor finds their streams.
            try await stage.killService()
            try await Task.sleep(for: .seconds(2))
            #expect(alice.isRunning && bob.isRunning, "\(alice.messages())\n\(bob.messages())")
            try await stage.startServiceAgain()
            #expect(Self.ingest(stage) == ingest, "the ingest was started again")
            let after = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(after.outputs.map(\.reconnects) == [0], "\(after.outputs)")
            #expect(alice.isRunning && bob.isRunning, "\(alice.messages())\n\(bob.messages())")

            // A clean end takes effect at once, without the grace period.
            await bob.stop()
            try await waitUntil("bob has left", within: 16) { try await stage.client.users(stage.room) == ["alice"] }
            let last = try await stage.waitForOnAir("bypass")
            #expect(last.outputs.map(\.reconnects) == [0])
            #expect(player.progress.tags > 50)
            viewer.stop()
            let seen = await viewer.recording()
            #expect(seen.connections == 1, "the viewer was connected \(seen.connections) times")
            try Self.checkPanes(
                panes, of: ["alice": Self.source(1), "bob": Self.source(2)], away: "bob", in: seen,
                begin...max(begin, end))

            // An end while no service runs is noticed afterwards.
            try await stage.killService()
            await alice.stop()
            try await stage.startServiceAgain()
            try await waitUntil("alice has left") { try await stage.client.users(stage.room).isEmpty }
            let timeline = try await client.request("GET", "/v1/tasks/auto-\(stage.room)/timeline").text
            #expect(timeline.contains("stream.unpublished bob/camera"), "\(timeline)")
            #expect(!stage.service.messages(last: .max).contains("relay="), "the log shows a code")
        }
    }

    /// A crash of the ingest costs publishers one connection, and viewers the pictures of that time.
    @Test(.timeLimit(.minutes(12))) func aCrashOfTheIngestIsBridged() async throws {
        let port = HookingMediaServer.anyPort()
        // This is longer than a busy machine takes for a restart of the ingest and of two publishers.
        try await Stage.run(environment: Self.environment(port, grace: 60)) { stage in
            try await Self.prepare(stage, port)
            let ingest = try #require(Self.ingest(stage))
            func publish() throws -> [ManagedProcess] {
                [try Self.publish("alice", 1, port, stage), try Self.publish("bob", 2, port, stage)]
            }
            let first = try publish()
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let viewer = try await stage.watch()
            let connections = viewer.progress.connections
            kill(ingest, SIGKILL)
            try await waitUntil("the publishers have lost it") { !first.contains { $0.isRunning } }
            try await waitUntil("another one listens") {
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(descriptor) }
                return Self.ingest(stage) != ingest && LoopbackListener.connect(descriptor, to: port)
            }
            let tags = viewer.progress.tags
            let second = try publish()
            try await waitUntil("both are live again") {
                try await stage.client.streamErrors(stage.room).isEmpty
            }
            let state = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(2))
            #expect(state.outputs.map(\.reconnects) == [0] && second.allSatisfy { $0.isRunning }, "\(state.outputs)")
            try await waitUntil("the viewer goes on") { viewer.progress.tags > tags + 40 }
            #expect(viewer.progress.connections == connections)
            viewer.stop()
            let video = try await viewer.recording().trace().video.compactMap(\.arrival)
            let pause = zip(video, video.dropFirst()).map { $1 - $0 }.max() ?? .max
            print("a crash of the ingest: longest time without a picture \(pause / 1_000_000) ms")
            #expect(pause < 3_000_000_000, "the program goes on: \(pause / 1_000_000) ms without a picture")
            for publisher in second { await publisher.stop() }
        }
    }

    /// The program is played over one RTMP connection from bypass to mix and back, while the service is killed and
    /// started again.
    @Test(.timeLimit(.minutes(15))) func theProgramIsPlayed() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            try await Self.prepare(stage, port)
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            let url = "rtmp://127.0.0.1:\(port)/program/\(stage.room)"
            let viewer = try await stage.record(url, as: "program")
            let other = try await stage.record(url, as: "program-other")
            let bob = try Self.publish("bob", 2, port, stage)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            struct Watched: Decodable { var viewers: Int }
            try await waitUntil("both viewers are counted") {
                let answer = try await client.request("GET", "/v1/tasks/auto-\(stage.room)")
                return try JSONDecoder().decode(Watched.self, from: answer.body).viewers == 2
            }
            other.stop()

            try await stage.killService()
            let before = viewer.progress.tags
            // The connection does not depend on the service.
            try await waitUntil("the play goes on") { viewer.progress.tags > before + 60 }
            try await stage.startServiceAgain()
            await bob.stop()
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(1))
            viewer.stop()
            let recording = await viewer.recording()
            #expect(recording.connections == 1 && recording.publisherLosses == 0)
            let times = try recording.trace().video.map(\.frame.dts.roundedMilliseconds)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(times.count > 40 && gaps.allSatisfy { $0 > 0 && $0 <= 110 }, "gaps of \(gaps.max() ?? 0) ms")

            // The server announces the end of the program.
            let last = try await stage.record(url, as: "program-last")
            #expect(try await client.request("DELETE", "/v1/rooms/\(stage.room)").status < 300)
            try await waitUntil("the player's connection is ended") { last.progress.lastError != nil }
            last.stop()
            #expect(await last.recording().publisherLosses == 1, "the player is told")
            await alice.stop()
        }
    }

    /// The service is started with another port, and then without one. A room's output is a participant of another
    /// room, but never of its own.
    @Test(.timeLimit(.minutes(12))) func aProgramIsPublishedIntoAnotherRoom() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            let place = "rtmp://127.0.0.1:\(port)/live"
            func send(_ room: String, to keys: [String]) async throws {
                let outputs = keys.map { #"{"id": "\#($0)", "url": "\#(place)/\#($0)"}"# }.joined(separator: ",")
                let json = #"{"outputs": [\#(outputs)]}"#
                #expect(try await client.request("PUT", "/v1/rooms/\(room)", json: json).status < 300)
            }
            try await send(stage.room, to: ["\(stage.room)__self", "second__first"])
            try await send("second", to: ["\(stage.room)__back"])
            try await Self.waitForIngest(stage, port)
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            try await waitUntil("the program is in the second room") {
                try await client.users("second") == ["first"]
            }
            struct Task: Decodable {
                struct Output: Decodable {
                    var id: String
                    var state: String
                    var lastError: String?
                }
                var outputs: [Output]
            }
            func outputs(_ room: String) async throws -> [Task.Output] {
                let answer = try await client.request("GET", "/v1/tasks/auto-\(room)")
                return try JSONDecoder().decode(Task.self, from: answer.body).outputs.sorted { $0.id < $1.id }
            }
            try await waitUntil("the second room is on air, and both circles are refused") {
                let (first, second) = (try await outputs(stage.room), try await outputs("second"))
                return (first + second).filter { $0.lastError?.contains("own program") == true }.count == 2
            }
            try await waitUntil("the program goes on into the second room") {
                try await outputs(stage.room).count { $0.state == "live" } == 1
            }
            #expect(try await client.users(stage.room) == ["alice"])
            let viewer = try await stage.record("http://127.0.0.1:\(client.port)/live/second.flv", as: "second")
            try await waitUntil("the second room's program has pictures") { viewer.progress.tags > 50 }
            viewer.stop()
            await alice.stop()
        }
    }

    @Test(.timeLimit(.minutes(12))) func anIngestIsMovedAndSwitchedOff() async throws {
        let (port, other) = (HookingMediaServer.anyPort(), HookingMediaServer.anyPort())
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            try await stage.makeRoom()
            try await Self.waitForIngest(stage, port)
            let ingest = Self.ingest(stage)
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            try await stage.killService()
            try await stage.startServiceAgain(changing: ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(other)"])
            try await waitUntil("alice's stream is at the new port") {
                try await client.request("GET", "/v1/rooms/\(stage.room)").text.contains(":\(other)/relay/")
            }
            try await stage.waitForOnAir("bypass")
            #expect(alice.isRunning && Self.ingest(stage) == ingest, "a publisher stays: \(alice.messages())")
            try await waitUntil("alice is pulled") { try await client.streamErrors(stage.room).isEmpty }

            try await stage.killService()
            try await stage.startServiceAgain(changing: ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": ""])
            try await waitUntil("the ingest has ended") { Self.ingest(stage) == nil }
            try await waitUntil("alice has left") { try await stage.client.users(stage.room).isEmpty }
            await alice.stop()
        }
    }

    @Test(.timeLimit(.minutes(12))) func theFirstOfTwoPublishersStaysAndPeoplePlay() async throws {
        let port = HookingMediaServer.anyPort()
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_TAKEOVER"] = "refuse"
        environment["MIXORCHESTRATOR_INGEST_PLAY"] = "on"
        try await Stage.run(environment: environment) { stage in
            try await Self.waitForIngest(stage, port)
            let alice = try Self.publish("alice", 1, port, stage)
            try await waitUntil("alice is there") { try await stage.client.users(stage.room) == ["alice"] }
            let player = try await stage.record("rtmp://127.0.0.1:\(port)/live/\(stage.room)__alice", as: "alice")
            let second = try Self.publish("alice", 2, port, stage)
            try await waitUntil("the second is refused") { !second.isRunning }
            #expect(second.messages().contains("another publisher is live"), "\(second.messages())")
            let before = player.progress.tags
            try await waitUntil("alice goes on") { player.progress.tags > before + 20 }
            #expect(alice.isRunning && player.progress.connections == 1)
            // After alice has left, the key is free.
            await alice.stop()
            try await waitUntil("alice has left") { try await stage.client.users(stage.room).isEmpty }
            let third = try Self.publish("alice", 2, port, stage)
            try await waitUntil("alice is there again") {
                try await stage.client.users(stage.room) == ["alice"]
            }
            await third.stop()
            player.stop()
        }
    }
}
