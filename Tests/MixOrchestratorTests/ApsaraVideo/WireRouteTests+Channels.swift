import Testing

@testable import MixOrchestrator

/// Channels and their participants.
extension WireRouteTests {
    @Test func channelsAreKnownFromEvents() async throws {
        try await Self.run { caller in
            let channel = ["ChannelId": "room1"]
            #expect(try await caller.call("DescribeChannelUsers", channel).value("IsChannelExists") == "0")
            try Self.expectError(try await caller.call("DeleteChannel", channel), 400, "InvalidParam", "ChannelId: ")
            try await Self.publish(caller.bench, "alice")
            try await Self.publish(caller.bench, "bob")
            for user in ["v1", "v2"] {
                try await Self.tell(caller.bench, #"{"type":"participant.joined","user":"\#(user)"}"#)
            }
            try await Self.publish(caller.bench, "zoe", room: "another")

            let users = try await caller.call("DescribeChannelUsers", channel)
            #expect(try users.value("InteractiveUserNumber") == "2" && users.value("LiveUserNumber") == "2")
            #expect(try users.value("InteractiveUserList.1") == "bob" && users.value("LiveUserList.0") == "v1")
            #expect(users.text.contains(#""IsChannelExists":true"#))
            let people = try await caller.call(
                "DescribeChannelParticipants",
                channel.merging(["PageNum": "1", "PageSize": "3", "Order": "asc"]) { $1 })
            #expect(try people.value("UserList.0") == "alice" && people.value("UserList.3") == nil)
            #expect(try people.value("TotalNum") == "4" && people.value("TotalPage") == "2")
            let last = try await caller.call("DescribeChannelParticipants", channel)
            #expect(try last.value("UserList.0") == "v2")
            let rooms = try await caller.call("ListRTCLiveRooms", ["PageNo": "2", "PageSize": "1"])
            #expect(try rooms.value("Total") == "2" && rooms.value("Rooms.0") == "room1")

            let removed = try await caller.call(
                "RemoveTerminals", channel.merging(["TerminalIds.1": "bob", "TerminalIds.2": "nobody"]) { $1 })
            #expect(try removed.value("Terminals.0.Id") == "bob" && removed.value("Terminals.0.Code") == "0")
            #expect(try removed.value("Terminals.1.Code") == "1")
            #expect(try await caller.call("DescribeChannelUsers", channel).value("InteractiveUserNumber") == "1")
            try Self.expectError(
                try await caller.call("RemoveTerminals", channel), 400, "MissingParam", "TerminalIds.1")
            try Self.expectDone(try await caller.call("DeleteChannel", channel))
            #expect(try await caller.call("DescribeChannelUsers", channel).value("IsChannelExists") == "0")
            // Another app's channel is not visible.
            let foreign = try await WireCaller.other(caller.bench).call(
                "DescribeChannelUsers", ["ChannelId": "another"])
            #expect(try foreign.value("InteractiveUserNumber") == "0")
        }
    }

    @Test func aChannelsEndIsItsTasksEnd() async throws {
        try await Self.run { [single = Self.single] caller in
            let bench = caller.bench
            try Self.expectDone(try await caller.call("StartLiveMPUTask", single))
            try await Self.publish(bench, "host")
            try await bench.plan { $0.mode == .bypass("host/camera") }
            try Self.expectDone(try await caller.call("DeleteChannel", ["ChannelId": "room1"]))
            try await eventually { bench.relays.running.isEmpty ? true : nil }
            try await eventually {
                try await caller.call("ListRtcMPUTaskDetail", ["TaskId": "task-1"]).value("MPUTasks.0") == nil
                    ? true : nil
            }
            // The reason for the end is available for a while.
            try await eventually {
                try await bench.call(.get, "/v1/tasks/task-1?app=shop").value("endReason") == "roomClosed" ? true : nil
            }
            // The id of an ended task is free again, even while the channel is empty.
            try await eventually {
                try await caller.call("StartLiveMPUTask", single).status == 200 ? true : nil
            }
            try await Self.publish(bench, "host")
            try await eventually { bench.relays.running.isEmpty ? nil : true }
        }
    }
}
