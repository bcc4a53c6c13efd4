import Foundation
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Alibaba Cloud's own SDKs, unchanged, against the service with relays that do as told.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SDKTests {
    static func sdk(
        _ kind: SDKCalls.SDK, _ bench: Bench, secret: String = "a-secret-of-the-shop's", key: String = "shop-key",
        securityToken: String? = nil
    ) throws -> SDKCalls {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let build = URL(fileURLWithPath: own).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try SDKCalls(
            kind, port: try #require(bench.client.port), key: key, secret: secret, securityToken: securityToken,
            root: OpenAPIDocument.root, build: build)
    }

    static func run(
        _ kind: SDKCalls.SDK, settings: [String: [String]] = [:],
        _ body: @escaping @Sendable (SDKCalls, Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(),
                settings: WireCaller.settings.merging(settings) { $1 }
            ) { bench in
                let sdk = try Self.sdk(kind, bench)
                try await body(sdk, bench)
                await sdk.end()
            }
        }
    }

    static let single = #"""
        {"AppId":"shop","ChannelId":"room1","TaskId":"task-1","MixMode":"0","MaxIdleTime":"60","Region":"CN-Shanghai",
        "StreamURL":"rtmp://127.0.0.1/live/s1?auth_key=1-0-0-abc","SingleSubParams":{"UserId":"host","StreamType":"0"},
        "SeiParams":{"PayloadType":"100","LayoutVolume":{"Interval":"1000","FollowIdr":"1"}}}
        """#
    static let mix = #"""
        {"AppId":"shop","ChannelId":"room1","TaskId":"task-1","MixMode":"1","TranscodeParams":{
        "UserInfos":[{"UserId":"host"},{"UserId":"guest-é~* 1","StreamType":"0"}],
        "Background":{"URL":"http://127.0.0.1/bg.png","RenderMode":"1"},
        "EncodeParams":{"AudioBitrate":"128","AudioChannels":"2","AudioOnly":"false","AudioSampleRate":"44100",
        "EnhancedParam":"{\"profile\":\"high\",\"preset\":\"veryfast\"}","VideoBitrate":"2000","VideoCodec":"H.264",
        "VideoFramerate":"30","VideoGop":"60","VideoHeight":"720","VideoWidth":"1280"},
        "Layout":{"UserPanes":[{"X":"0","Y":"0","Width":"0.5","Height":"1","ZOrder":"0","UserInfo":{"UserId":"host"}},
        {"X":"0.5","Y":"0","Width":"0.5","Height":"1","ZOrder":"1","RenderMode":"0"}]}}}
        """#

    @Test(arguments: SDKCalls.SDK.allCases) func everyActionOfTasksAndChannels(_ kind: SDKCalls.SDK) async throws {
        try await Self.run(kind) { sdk, bench in
            func done(_ action: String, _ parameters: String) async throws -> SDKCalls.Outcome {
                let outcome = try await sdk.call(action, parameters)
                #expect(outcome.isDone, "\(action): \(outcome.text)")
                return outcome
            }
            _ = try await done("StartLiveMPUTask", Self.single)
            try await WireRouteTests.publish(bench, "host")
            try await bench.plan { $0.mode == .bypass("host/camera") }
            try await WireRouteTests.publish(bench, "guest")
            _ = try await done("UpdateLiveMPUTask", Self.mix)
            try await bench.plan { $0.scene.panes.count == 2 && $0.scene.canvas.width == 1280 }

            let detail = try await done("ListRtcMPUTaskDetail", #"{"AppId":"shop","TaskId":"task-1"}"#)
            let task = "body.MPUTasks.0."
            #expect(detail[task + "MixMode"] == "1" && detail[task + "MaxIdleTime"] == "60")
            #expect(detail[task + "StreamURL"] == "rtmp://127.0.0.1/live/s1?auth_key=1-0-0-abc")
            #expect(detail[task + "TranscodeParams.UserInfos.1.UserId"] == "guest-é~* 1")
            #expect(detail[task + "TranscodeParams.EncodeParams.VideoWidth"] == "1280")
            #expect(detail[task + "TranscodeParams.EncodeParams.EnhancedParam"]?.contains("veryfast") == true)
            #expect(detail[task + "TranscodeParams.Layout.UserPanes.1.RenderMode"] == "0")
            #expect(detail[task + "TranscodeParams.Background.URL"] == "http://127.0.0.1/bg.png")
            #expect(detail[task + "SeiParams.PayloadType"] == "100")
            #expect(detail[task + "SeiParams.LayoutVolume.FollowIdr"] == "1")
            #expect(detail[task + "SingleSubParams"] == nil || detail[task + "SingleSubParams.UserId"] == nil)
            let page = try await done("ListRtcMPUTaskDetail", #"{"AppId":"shop","PageNo":1,"PageSize":10}"#)
            #expect(page[task + "TaskId"] == "task-1")

            _ = try await done(
                "SetLiveMpuTaskSei", #"{"AppId":"shop","TaskId":"task-1","CustomSei":"{\"a\": \"é *~\"}"}"#)
            let users = try await done("DescribeChannelUsers", #"{"AppId":"shop","ChannelId":"room1"}"#)
            #expect(users["body.InteractiveUserList.1"] == "guest" && users["body.InteractiveUserNumber"] == "2")
            #expect(users["body.IsChannelExists"] == "1")
            let people = try await done(
                "DescribeChannelParticipants",
                #"{"AppId":"shop","ChannelId":"room1","PageNum":1,"PageSize":1,"Order":"asc"}"#)
            #expect(people["body.UserList.0"] == "host" && people["body.TotalPage"] == "2")
            let rooms = try await done("ListRTCLiveRooms", #"{"AppId":"shop","PageNo":1,"PageSize":10}"#)
            #expect(rooms["body.Rooms.0"] == "room1")
            let terminals = try await done(
                "RemoveTerminals", #"{"AppId":"shop","ChannelId":"room1","TerminalIds":["guest","nobody"]}"#)
            #expect(terminals["body.Terminals.0.Code"] == "0" && terminals["body.Terminals.1.Code"] == "1")
            _ = try await done("StopLiveMPUTask", #"{"AppId":"shop","TaskId":"task-1"}"#)
            try await eventually { bench.relays.running.isEmpty ? true : nil }
            _ = try await done("DeleteChannel", #"{"AppId":"shop","ChannelId":"room1"}"#)
        }
    }

    @Test(arguments: SDKCalls.SDK.allCases) func everyActionOfSubscriptions(_ kind: SDKCalls.SDK) async throws {
        try await Self.run(kind) { sdk, bench in
            func done(_ action: String, _ parameters: String) async throws -> SDKCalls.Outcome {
                let outcome = try await sdk.call(action, parameters)
                #expect(outcome.isDone, "\(action): \(outcome.text)")
                return outcome
            }
            // No server listens at this address; the failed delivery is in the log.
            let url = "http://127.0.0.1:1/x?y=1"
            let made = try await done(
                "CreateEventSub",
                #"{"AppId":"shop","ChannelId":"room1","CallbackUrl":"\#(url)","Events":["UserEvent","ChannelEvent"],"Users":["u1","host"]}"#
            )
            let id = try #require(made["body.SubscribeId"])
            var list = try await done("ListEventSub", #"{"AppId":"shop"}"#)
            #expect(list["body.Subscribers.0.SubId"] == id && list["body.Subscribers.0.CallbackUrl"] == url)
            #expect(list["body.Subscribers.0.ChannelId"] == "room1" && list["body.Subscribers.0.Users.1"] == "host")
            #expect(list["body.Subscribers.0.Events.1"] == "UserEvent" && list["body.Subscribers.0.Roles"] == "0")
            let created = try #require(list["body.Subscribers.0.CreateTime"])
            #expect(created.wholeMatch(of: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/) != nil, "\(created)")
            try await WireRouteTests.publish(bench, "host")
            let now = Int(wallClock())
            let log = try await eventually {
                let log = try await sdk.call(
                    "ListEventSubEvent",
                    #"{"AppId":"shop","SubscribeId":"\#(id)","StartTime":\#(now - 60),"EndTime":\#(now + 60),"PageNo":1,"PageSize":10}"#
                )
                #expect(log.isDone, "\(log.text)")
                return log["body.Logs.0.Data"]?.contains("\"room1\"") == true ? log : nil
            }
            #expect(log["body.Logs.0.SubId"] == id && log["body.Logs.0.AppId"] == "shop")
            #expect(log["body.Logs.0.Code"] == "0" && log["body.Logs.0.MessageId"]?.isEmpty == false)
            #expect(log["body.Logs.0.Data"]?.contains("\"SubscribeID\"") == true, "\(log.text)")
            #expect(log["body.Count"].flatMap { Int($0) } ?? 0 >= 1 && log["body.HasMore"] != nil)
            _ = try await done(
                "UpdateEventSub",
                #"{"AppId":"shop","SubscribeId":"\#(id)","ChannelId":"*","CallbackUrl":"\#(url)","Events":["ChannelEvent"]}"#
            )
            list = try await done("ListEventSub", #"{"AppId":"shop"}"#)
            #expect(list["body.Subscribers.0.ChannelId"] == "*" && list["body.Subscribers.0.Events.1"] == nil)
            // A second subscription for all channels is refused.
            let second = try await sdk.call(
                "CreateEventSub", #"{"AppId":"shop","CallbackUrl":"\#(url)","Events":["UserEvent"]}"#)
            #expect(second.code == "InvalidParam", "\(second.text)")
            _ = try await done("DeleteEventSub", #"{"AppId":"shop","SubscribeId":"\#(id)"}"#)
            #expect(
                try await sdk.call("DeleteEventSub", #"{"AppId":"shop","SubscribeId":"\#(id)"}"#).code == "InvalidParam"
            )
            for (parameters, code) in [
                (#"{"AppId":"shop","CallbackUrl":"\#(url)","Events":["Nothing"]}"#, "InvalidParam"),
                (#"{"AppId":"shop","CallbackUrl":"ftp://x/y","Events":["UserEvent"]}"#, "InvalidParam"),
                (#"{"AppId":"shop","CallbackUrl":"https://app.example/x","Events":["UserEvent"]}"#, "InvalidParam"),
                (#"{"AppId":"shop","CallbackUrl":"\#(url)","Events":["UserEvent"],"Users":["u"]}"#, "MissingParam"),
            ] {
                let outcome = try await sdk.call("CreateEventSub", parameters)
                #expect(outcome.code == code, "\(outcome.text)")
            }

            let ofTasks = try await done(
                "CreateRtcMPUEventSub", #"{"AppId":"shop","CallbackUrl":"\#(url)","ChannelIds":"room1,room2"}"#)
            let subscription = try #require(ofTasks["body.SubId"])
            #expect(
                try await sdk.call("CreateRtcMPUEventSub", #"{"AppId":"shop","CallbackUrl":"\#(url)"}"#).code
                    == "InvalidParam", "an app has one")
            _ = try await done("UpdateRtcMPUEventSub", #"{"AppId":"shop","ChannelIds":"room1"}"#)
            let described = try await done("DescribeRtcMPUEventSub", #"{"AppId":"shop"}"#)
            #expect(described["body.SubInfo.SubId"] == subscription && described["body.SubInfo.ChannelIds"] == "room1")
            #expect(described["body.SubInfo.CallbackUrl"] == url && described["body.SubInfo.AppId"] == "shop")
            let (from, until) = (
                WireSubscriptions.universalTime(wallClock() - 60), WireSubscriptions.universalTime(wallClock() + 60)
            )
            let records = try await done(
                "ListRtcMPUEventSubRecord",
                #"{"AppId":"shop","SubId":"\#(subscription)","StartTime":"\#(from)","EndTime":"\#(until)","PageNo":1,"PageSize":10}"#
            )
            #expect(records["body.Count"] == "0" && records["body.HasMore"] == "0")
            _ = try await done("DeleteRtcMPUEventSub", #"{"AppId":"shop"}"#)
            #expect(try await sdk.call("DeleteRtcMPUEventSub", #"{"AppId":"shop"}"#).code == "InvalidParam")
        }
    }

    @Test(arguments: SDKCalls.SDK.allCases) func errorsAreWhatTheSDKsThrow(_ kind: SDKCalls.SDK) async throws {
        let exception = kind == .legacy ? "ServerException" : "ClientException"
        try await Self.run(kind, settings: ["http.rate.failures": ["0"]]) { sdk, bench in
            func refused(
                _ action: String, _ parameters: String, _ code: String, _ status: String, _ word: String
            ) async throws {
                let outcome = try await sdk.call(action, parameters)
                #expect(outcome["error.type"] == exception, "\(outcome.text)")
                #expect(outcome.code == code && outcome["error.status"] == status, "\(outcome.text)")
                #expect(outcome["error.message"]?.contains(word) == true, "\(outcome.text)")
                #expect(outcome["error.requestId"].flatMap { UUID(uuidString: $0) } != nil, "\(outcome.text)")
            }
            try await refused(
                "StopLiveMPUTask", #"{"AppId":"shop","TaskId":"none"}"#, "InvalidParam", "400", "TaskId: ")
            try await refused("StopLiveMPUTask", #"{"AppId":"other","TaskId":"t"}"#, "InvalidAppId", "400", "AppId: ")
            try await refused(
                "StartLiveMPUTask", Self.single.replacing("\"host\"", with: "\"\""), "MissingParam", "400",
                "SingleSubParams.UserId")
            try await refused(
                "UpdateLiveMPUTask", Self.mix, "InvalidParam", "400", "TaskId: ")

            // One SDK recognises a wrong secret by the string to sign in the answer.
            let wrong = try Self.sdk(kind, bench, secret: "another-secret-than-that")
            let outcome = try await wrong.call("StopLiveMPUTask", #"{"AppId":"shop","TaskId":"t"}"#)
            await wrong.end()
            #expect(
                outcome.code == (kind == .legacy ? "InvalidAccessKeySecret" : "SignatureDoesNotMatch"),
                "\(outcome.text)")
            let stranger = try Self.sdk(kind, bench, key: "stranger")
            #expect(
                try await stranger.call("StopLiveMPUTask", #"{"AppId":"shop","TaskId":"t"}"#).code
                    == "InvalidAccessKeyId.NotFound")
            await stranger.end()
        }
    }

    @Test(arguments: SDKCalls.SDK.allCases) func throttlingIsTold(_ kind: SDKCalls.SDK) async throws {
        try await Self.run(kind, settings: ["http.rate.requests": ["1"]]) { sdk, _ in
            let outcome = try await eventually {
                let outcome = try await sdk.call("ListRTCLiveRooms", #"{"AppId":"shop","PageNo":1,"PageSize":10}"#)
                return outcome.isDone ? nil : outcome
            }
            #expect(outcome.code == "Throttling.User" && outcome["error.status"] == "429", "\(outcome.text)")
            if kind != .legacy {
                #expect(outcome["error.type"] == "ThrottlingException")
                #expect(outcome["error.retryAfter"].flatMap { Int($0) } ?? 0 >= 1)
            }
        }
    }

    @Test(arguments: [SDKCalls.SDK.new, .legacy]) func temporaryCredentials(_ kind: SDKCalls.SDK) async throws {
        try await withDirectory { directory in
            let settings = WireCaller.settings.merging(["apps.0.accessKeys.0.securityToken": ["sts-token"]]) { $1 }
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(), settings: settings
            ) { bench in
                for (token, code) in [
                    ("sts-token", nil), ("other", "InvalidSecurityToken.MismatchWithAccessKey"),
                    (nil, "MissingSecurityToken"),
                ] {
                    let sdk = try Self.sdk(kind, bench, securityToken: token)
                    let outcome = try await sdk.call("ListRTCLiveRooms", #"{"AppId":"shop","PageNo":1,"PageSize":10}"#)
                    await sdk.end()
                    #expect(outcome.code == code, "\(outcome.text)")
                }
            }
        }
    }
}
