import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// The program survives the death of the service.
@Suite(.serialized) struct ReadoptionTests {
    /// The service is killed during a bypass and during a mix: the relay continues, and the restarted service takes it
    /// over.
    @Test(.timeLimit(.minutes(5))) func aKilledServiceCostsNoFrame() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, gopSeconds: 1))
            try await stage.open(host: "alice")
            let relay = try stage.relay()
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(1))

            try await stage.killService()
            // A program that depended on the service would have ended by then.
            try await Task.sleep(for: .seconds(2))
            try await stage.startServiceAgain()
            try await stage.waitForOnAir("bypass")
            #expect(try stage.relay() == relay, "the relay was started again")

            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let mixer = try stage.mixer()
            try await stage.killService()
            try await Task.sleep(for: .seconds(2))
            try await stage.startServiceAgain()
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(try stage.relay() == relay, "the relay was started again")
            #expect(try stage.mixer() == mixer, "the mixer was started again")

            try await stage.leave("bob")
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            try await Task.sleep(for: .seconds(1))
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.isWhole(), "\(report.sources)")
        }
    }

    /// The service ends in order at any moment: just after the event, while the relay starts, or on air.
    @Test(.timeLimit(.minutes(4)), arguments: [0, 40, 2500])
    func nothingOutlivesTheService(milliseconds: Int) async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await beginProgram(stage)
            try await Task.sleep(for: .milliseconds(milliseconds))
            await stage.service.stop(within: 30)
            // After 10 s it would end with another code.
            #expect(stage.service.exitStatus == 0, "\(stage.service.messages())")
            // A mixer ends a moment after its relay. An orphaned relay would run for minutes.
            try await waitUntil("nothing is left: \(stage.workers)") { stage.workers.isEmpty }
        }
    }

    /// A deleted room and an empty one release all resources.
    @Test(.timeLimit(.minutes(4))) func nothingOutlivesTheRoom() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await beginProgram(stage)
            try await stage.waitForOnAir("bypass")
            try await stage.client.deleteRoom(stage.room)
            try await waitUntil("the deleted room's processes end") { stage.workers.isEmpty }

            try await beginProgram(stage)
            try await stage.waitForOnAir("bypass")
            let begin = ContinuousClock.now
            try await stage.leave("alice")
            try await stage.leave("bob")
            try await waitUntil("the idle room's processes end") { stage.workers.isEmpty }
            #expect(ContinuousClock.now - begin >= .seconds(1), "maxIdleSeconds is 1")
            // The service learns of the relay's end a moment after the process table.
            var task = ""
            try await waitUntil("the task has ended: \(task)") {
                task = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)").text
                return task.contains(#""state":"stopped""#) && task.contains(#""endReason":"idle""#)
            }
        }
    }

    /// Starts a program with a host on air and a guest who never comes: a relay, and a mixer that waits.
    private func beginProgram(_ stage: Stage) async throws {
        let output = stage.media.cdn(stage.room)
        let answer = try await stage.client.request(
            "PUT", "/v1/rooms/\(stage.room)",
            json: """
                {"host": "alice", "outputs": [{"id": "cdn", "url": "\(output)"}], "policy": {"maxIdleSeconds": 1}}
                """)
        #expect((200..<300).contains(answer.status), "\(answer.text)")
        try await stage.client.published(stage.room, user: "alice", url: stage.media.live("alice"), role: "host")
        try await stage.client.published(stage.room, user: "bob", url: stage.media.live("nobody"))
    }
}
