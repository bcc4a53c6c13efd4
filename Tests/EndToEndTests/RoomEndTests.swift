import Testing

@testable import ViewerProbe

/// A service that ends, and a room that ends, leave no process behind.
@Suite(.serialized) struct RoomEndTests {
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
