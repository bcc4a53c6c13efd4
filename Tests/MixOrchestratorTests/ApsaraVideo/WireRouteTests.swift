import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// Calls at `/` over HTTP, with scripted relays.
@Suite(.timeLimit(.minutes(5))) struct WireRouteTests {
    static let single = [
        "ChannelId": "room1", "TaskId": "task-1", "MixMode": "0", "StreamURL": "rtmp://127.0.0.1/live/s1?key=hidden",
        "SingleSubParams": #"{"UserId":"host"}"#,
    ]
    static let mix = [
        "ChannelId": "room1", "TaskId": "task-1", "MixMode": "1",
        "TranscodeParams": #"""
        {"EncodeParams":{"AudioBitrate":"64","AudioChannels":"1","AudioSampleRate":"44100","VideoBitrate":"500",
        "VideoFramerate":"20","VideoGop":"40","VideoHeight":"640","VideoWidth":"360"},"Layout":{"UserPanes":[
        {"X":"0","Y":"0","Width":"0.5","Height":"1","ZOrder":"0","UserInfo":{"UserId":"host"}},
        {"X":"0.5","Y":"0","Width":"0.5","Height":"1","ZOrder":"0"}]}}
        """#,
    ]

    /// Runs a service with the interface at `/`, and no other one, in use.
    static func run(
        settings: [String: [String]] = [:], store: (any TaskStore)? = MemoryTaskStore(),
        _ body: @escaping @Sendable (WireCaller) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: store, settings: WireCaller.settings.merging(settings) { $1 }
            ) { bench in try await body(WireCaller(bench: bench)) }
        }
    }

    static func publish(_ bench: Bench, _ user: String, room: String = "room1") async throws {
        let body = #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#
        let answer = try await bench.call(.post, "/v1/rooms/\(room)/events?app=shop", body)
        #expect(answer.status == 202, "\(answer.text)")
    }

    static func tell(_ bench: Bench, _ event: String, room: String = "room1") async throws {
        let answer = try await bench.call(.post, "/v1/rooms/\(room)/events?app=shop", event)
        #expect(answer.status == 202, "\(answer.text)")
    }

    /// Expects an error in the interface's format.
    static func expectError(
        _ answer: Answer, _ status: Int, _ code: String, _ word: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.headers[.contentType] == "application/json;charset=utf-8", sourceLocation: sourceLocation)
        #expect(try answer.value("Code") == code, "\(answer.text)", sourceLocation: sourceLocation)
        let id = try #require(try answer.value("RequestId"), sourceLocation: sourceLocation)
        #expect(UUID(uuidString: id) != nil && id == id.uppercased(), sourceLocation: sourceLocation)
        #expect(try answer.value("HostId")?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(
            try word.isEmpty || answer.value("Message")?.contains(word) == true, "\(answer.text)",
            sourceLocation: sourceLocation)
    }

    static func expectDone(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(answer.status == 200, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(try answer.value("RequestId") != nil, sourceLocation: sourceLocation)
        #expect(try answer.value("Code") == nil, sourceLocation: sourceLocation)
    }

    // MARK: Tasks

    @Test(arguments: WireCaller.Signature.allCases)
    func theFlowOfTheGuide(_ signature: WireCaller.Signature) async throws {
        try await Self.run { [single = Self.single, mix = Self.mix] caller in
            var caller = caller
            caller.signature = signature
            let bench = caller.bench
            // The participant has not joined yet.
            let started = try await caller.call("StartLiveMPUTask", single)
            try Self.expectDone(started)
            #expect(started.text == #"{"RequestId":"\#(try started.value("RequestId") ?? "")"}"#)
            #expect(bench.relays.started.isEmpty)
            try await Self.publish(bench, "host")
            try await bench.plan { $0.mode == .bypass("host/camera") }
            try await Self.publish(bench, "guest")

            try Self.expectDone(try await caller.call("UpdateLiveMPUTask", mix))
            let plan = try await bench.plan { $0.scene.panes.count == 2 }
            #expect(
                plan.outputs.destinations == [PushDestination(id: "main", url: "rtmp://127.0.0.1/live/s1?key=hidden")])
            #expect(plan.scene.canvas.width == 360 && plan.scene.canvas.fps == 20)
            try Self.expectDone(
                try await caller.call(
                    "UpdateLiveMPUTask", ["ChannelId": "room1", "TaskId": "task-1", "MixMode": "0"]))
            try await bench.plan { $0.mode == .bypass("host/camera") }
            #expect(bench.relays.started.count == 1, "the same program all along")

            let detail = try await caller.call("ListRtcMPUTaskDetail", ["TaskId": "task-1"])
            #expect(try detail.value("MPUTasks.0.MixMode") == "0")
            #expect(try detail.value("MPUTasks.0.SingleSubParams.UserId") == "host")
            #expect(try detail.value("MPUTasks.0.StreamURL") == "rtmp://127.0.0.1/live/s1?key=hidden")
            try Self.expectDone(try await caller.call("StopLiveMPUTask", ["TaskId": "task-1"]))
            try await eventually { bench.relays.running.isEmpty ? true : nil }
            try await eventually {
                try await bench.call(.get, "/v1/tasks/task-1?app=shop").status == 404 ? true : nil
            }
            #expect(!bench.log.text.contains("hidden"), "stream keys are in no log")
            #expect(!bench.log.text.contains("secret-of"))
        }
    }

    @Test func whatCannotBeDoneIsRefused() async throws {
        try await Self.run { [single = Self.single, mix = Self.mix] caller in
            try Self.expectDone(try await caller.call("StartLiveMPUTask", single))
            let other = ["TaskId": "task-2", "StreamURL": "rtmp://127.0.0.1/live/s2"]
            for (action, parameters, word) in [
                ("StartLiveMPUTask", single, "TaskId: "),
                ("StartLiveMPUTask", single.merging(["ChannelId": "room2"]) { $1 }, "TaskId: "),
                ("StartLiveMPUTask", single.merging(["TaskId": "task-2"]) { $1 }, "StreamURL: "),
                ("UpdateLiveMPUTask", mix.merging(["TaskId": "none"]) { $1 }, "TaskId: "),
                ("UpdateLiveMPUTask", mix.merging(["ChannelId": "room2"]) { $1 }, "ChannelId: "),
                ("UpdateLiveMPUTask", ["ChannelId": "room1", "TaskId": "task-1", "MixMode": "1"], "TranscodeParams"),
                ("StopLiveMPUTask", ["TaskId": "none"], "TaskId: "),
                ("SetLiveMpuTaskSei", ["TaskId": "task-1", "CustomSei": "{"], "CustomSei: "),
                (
                    "SetLiveMpuTaskSei", ["TaskId": "task-1", "CustomSei": "\"" + String(repeating: "a", count: 4096)],
                    "CustomSei: "
                ),
                ("ListRtcMPUTaskDetail", ["PageNo": "1"], "PageSize"),
                ("ListRtcMPUTaskDetail", ["PageNo": "1", "PageSize": "101"], "PageSize: "),
            ] {
                let answer = try await caller.call(action, parameters)
                #expect(answer.status == 400, "\(action) \(answer.text)")
                #expect(try answer.value("Message")?.hasPrefix(word) == true, "\(action) \(answer.text)")
                #expect(!answer.text.contains("/v1/"), "these callers know no such path: \(answer.text)")
            }
            // A refused call changes nothing.
            let list = try await caller.call("ListRtcMPUTaskDetail", ["PageNo": "1", "PageSize": "10"])
            #expect(try list.value("MPUTasks.0.MixMode") == "0" && list.value("MPUTasks.1") == nil)
            try Self.expectDone(try await caller.call("StartLiveMPUTask", single.merging(other) { $1 }))
            try Self.expectDone(
                try await caller.call("SetLiveMpuTaskSei", ["TaskId": "task-1", "CustomSei": #"{"a":"é"}"#]))
            // Pages.
            for (page, task) in [("1", "task-1"), ("2", "task-2"), ("3", nil)] {
                let list = try await caller.call("ListRtcMPUTaskDetail", ["PageNo": page, "PageSize": "1"])
                #expect(try list.value("MPUTasks.0.TaskId") == task && list.value("MPUTasks.1") == nil)
            }
            // This interface does not see tasks of the service's own interface.
            let own = #"{"id":"own","room":"room1","outputs":[{"id":"main","url":"rtmp://127.0.0.1/own"}]}"#
            #expect(try await caller.bench.call(.post, "/v1/tasks?app=shop", own).status == 201)
            try Self.expectError(
                try await caller.call("StopLiveMPUTask", ["TaskId": "own"]), 400, "InvalidParam", "TaskId: ")
            #expect(
                try await caller.call("ListRtcMPUTaskDetail", ["TaskId": "own"]).value("MPUTasks.0") == nil)
            // A task that the service's own interface stops is gone here too.
            let deleted = try await caller.bench.call(.delete, "/v1/tasks/task-2?app=shop")
            #expect(deleted.status == 200, "\(deleted.text)")
            #expect(try deleted.value("state") == "stopped" && deleted.value("endReason") == "requested")
            #expect(try await caller.bench.call(.get, "/v1/tasks/task-2?app=shop").status == 404)
        }
    }

    @Test func tasksSurviveARestart() async throws {
        try await withDirectory { [single = Self.single] directory in
            let settings = WireCaller.settings
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try Self.expectDone(try await WireCaller(bench: bench).call("StartLiveMPUTask", single))
            }
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                let caller = WireCaller(bench: bench)
                let detail = try await caller.call("ListRtcMPUTaskDetail", ["TaskId": "task-1"])
                #expect(try detail.value("MPUTasks.0.SingleSubParams.UserId") == "host")
                try await Self.publish(bench, "host")
                try await bench.plan { $0.mode == .bypass("host/camera") }
            }
        }
    }

    /// A thousand cycles of start, update and stop leave nothing behind.
    @Test func aThousandCyclesLeaveNothingBehind() async throws {
        let store = MemoryTaskStore()
        try await Self.run(store: store) { [single = Self.single, mix = Self.mix] caller in
            let bench = caller.bench
            func cycle(_ number: Int) async throws {
                let own = [
                    "TaskId": "task-\(number)", "ChannelId": "room\(number % 20)",
                    "StreamURL": "rtmp://127.0.0.1/live/\(number % 4)-\(number % 20)",
                ]
                // Every 20th task is on air meanwhile, with its own relay.
                let room = "room\(number % 20)"
                if number % 20 == 7 { try await Self.publish(bench, "host", room: room) }
                try Self.expectDone(try await caller.call("StartLiveMPUTask", single.merging(own) { $1 }))
                var update = mix.merging(own) { $1 }
                update["StreamURL"] = nil
                try Self.expectDone(try await caller.call("UpdateLiveMPUTask", update))
                try Self.expectDone(try await caller.call("StopLiveMPUTask", ["TaskId": "task-\(number)"]))
                if number % 20 == 7 {
                    // The id and the destination remain taken while the task ends.
                    try await eventually {
                        try await bench.call(.get, "/v1/tasks/task-\(number)?app=shop").status == 404 ? true : nil
                    }
                    try await Self.tell(bench, #"{"type":"room.closed"}"#, room: room)
                }
            }
            for number in 0..<1000 { try await cycle(number) }
            try await eventually { bench.relays.running.isEmpty ? true : nil }
            #expect(bench.relays.started.count == 50)
            try await eventually { try await store.tasks().isEmpty ? true : nil }
            let rooms = try await store.rooms().map(\.document.id)
            #expect(rooms == ["shop/room7"], "known from events, and not from tasks")
            let list = try await caller.call("ListRtcMPUTaskDetail", ["PageNo": "1", "PageSize": "100"])
            #expect(try list.value("MPUTasks.0") == nil)
            // All ids and destinations are free again.
            for number in 0..<16 {
                try Self.expectDone(
                    try await caller.call(
                        "StartLiveMPUTask",
                        single.merging([
                            "TaskId": "task-\(number)", "StreamURL": "rtmp://127.0.0.1/live/\(number % 4)-\(number)",
                        ]) { $1 }))
            }
        }
    }

    // MARK: Other refusals

    @Test func everyRefusalHasTheShape() async throws {
        try await Self.run(settings: ["http.rate.failures": ["0"]]) { [single = Self.single] caller in
            let bench = caller.bench
            try Self.expectError(try await bench.call(.get, "/"), 400, "MissingAccessKeyId")
            try Self.expectError(try await bench.call(.post, "/", "x=1"), 400, "MissingAccessKeyId")
            try Self.expectError(
                try await caller.call("StartLiveMPUTusk"), 404, "InvalidAction.NotFound", "StartLiveMPUTask")
            var foreign = caller
            foreign.app = "other"
            try Self.expectError(try await foreign.call("StartLiveMPUTask", single), 400, "InvalidAppId", "AppId: ")
            var wrong = caller
            wrong.secret = "another-secret-than-that"
            for signature in WireCaller.Signature.allCases {
                wrong.signature = signature
                try Self.expectError(
                    try await wrong.call("StopLiveMPUTask", ["TaskId": "t"]), 400, "SignatureDoesNotMatch",
                    "Specified signature is not matched with our calculation. server string to sign is:")
            }
            var stranger = caller
            stranger.key = "stranger"
            try Self.expectError(try await stranger.call("ListEventSub"), 404, "InvalidAccessKeyId.NotFound")

            // The header and the parameter must name the same action; an RPC signature does not cover headers.
            var rpc = caller
            rpc.signature = .rpc
            var (uri, headers) = rpc.signed("ListRTCLiveRooms", ["AppId": "shop"])
            headers[try #require(HTTPField.Name("x-acs-action"))] = "DeleteChannel"
            try Self.expectError(try await bench.call(.post, uri, headers: headers), 400, "InvalidParam", "Action: ")
            (uri, headers) = rpc.signed("ListRTCLiveRooms", ["AppId": "shop"])
            try Self.expectError(
                try await bench.call(
                    .post, uri.replacing("Version=2016-11-01", with: "Version=2018-01-11"), headers: headers), 400,
                "SignatureDoesNotMatch")
            // A repeated request is refused.
            (uri, headers) = caller.signed("ListRTCLiveRooms", ["AppId": "shop"])
            #expect(try await bench.call(.post, uri, headers: headers).status == 200)
            try Self.expectError(try await bench.call(.post, uri, headers: headers), 400, "SignatureNonceUsed")
            (uri, headers) = caller.signed("ListRTCLiveRooms", ["AppId": "shop"], method: .get)
            try Self.expectError(try await bench.call(.post, uri, headers: headers), 400, "SignatureDoesNotMatch")
            let large = String(repeating: "a", count: 2 << 20)
            // The service does not read a body without a signature, except a form, which can hold one.
            try Self.expectError(try await bench.call(.post, "/", large), 400, "MissingAccessKeyId")
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            try Self.expectError(try await bench.call(.post, "/", large, headers: form), 413, "InvalidParam")
            // A web page cannot sign its requests, so that the usual refusal is enough.
            try Self.expectError(
                try await bench.call(.post, "/", headers: [.origin: "https://page.example"]), 400, "MissingAccessKeyId")
        }
    }

    @Test func withoutAccessKeysTheCureIsTold() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                try Self.expectError(try await bench.call(.get, "/"), 403, "OperationDenied", "accessKeys")
                let caller = WireCaller(bench: bench, app: "default")
                try Self.expectError(try await caller.call("ListRTCLiveRooms"), 403, "OperationDenied", "accessKeys")
            }
        }
    }

    @Test func tooManyAreThrottled() async throws {
        let retryAfter = try #require(HTTPField.Name("x-acs-retry-after"))
        try await Self.run(settings: ["http.rate.requests": ["2"], "http.rate.failures": ["2"]]) { caller in
            let answer = try await eventually {
                let answer = try await caller.call("ListRTCLiveRooms")
                return answer.status == 429 ? answer : nil
            }
            try Self.expectError(answer, 429, "Throttling.User", "http.rate.requests")
            #expect(answer.headers[retryAfter].flatMap { Int($0) } ?? 0 >= 1000)
            let guess = try await eventually {
                let answer = try await caller.bench.call(.get, "/?Signature=a&AccessKeyId=b")
                return answer.status == 429 ? answer : nil
            }
            try Self.expectError(guess, 429, "Throttling.User", "http.rate.failures")
            // Other keys are not limited.
            #expect(try await WireCaller.other(caller.bench).call("ListRTCLiveRooms").status == 200)
        }
    }

    @Test func aFullMachineAndAStoreThatTakesNothingAreTold() async throws {
        let retryAfter = try #require(HTTPField.Name("x-acs-retry-after"))
        try await Self.run(settings: ["admission.cores": ["0.001"]]) { [single = Self.single] caller in
            try await Self.publish(caller.bench, "host")
            // The first task is always admitted.
            try Self.expectDone(try await caller.call("StartLiveMPUTask", single))
            let second = single.merging(["TaskId": "task-2", "StreamURL": "rtmp://127.0.0.1/live/s2"]) { $1 }
            let answer = try await caller.call("StartLiveMPUTask", second)
            try Self.expectError(answer, 503, "ServiceUnavailable", "admission.cores")
            #expect(answer.headers[retryAfter].flatMap { Int($0) } ?? 0 >= 1000)
        }
        let store = MemoryTaskStore()
        try await Self.run(store: store) { [single = Self.single] caller in
            await store.close()
            let answer = try await caller.call("StartLiveMPUTask", single)
            try Self.expectError(answer, 503, "ServiceUnavailable")
            #expect(answer.headers[retryAfter] != nil)
        }
    }
}
