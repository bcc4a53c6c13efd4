import EncodedMedia
import EventSubscription
import LayoutEngine
import MixModel
import TextFormats
import Testing

@testable import HTTPInterface

/// The parameters of calls: their meaning, and the refusals.
@Suite struct TaskParametersTests {
    static let reach = TaskParameters.Reach(
        outputs: .loopbackOnly, images: .loopbackOnly, canvas: Canvas(width: 720, height: 1280, fps: 20))

    static func parameters(_ values: [String: String]) throws -> WireParameters {
        let pairs = values.map { "\(PercentEncoding.encoded($0))=\(PercentEncoding.encoded($1))" }
        return try WireParameters([Array(pairs.joined(separator: "&").utf8)])
    }

    static let ids = ["AppId": "shop", "ChannelId": "room1", "TaskId": "task-1"]
    static let single = ids.merging([
        "MixMode": "0", "StreamURL": "rtmp://127.0.0.1/live/s1?auth_key=1", "SingleSubParams": #"{"UserId":"host"}"#,
    ]) { $1 }
    static let encoding = #"""
        "EncodeParams":{"AudioBitrate":"128","AudioChannels":"2","AudioOnly":"false","AudioSampleRate":"44100",
        "VideoBitrate":"2000","VideoCodec":"H.264","VideoFramerate":"30","VideoGop":"60","VideoHeight":720,"VideoWidth":"1280",
        "EnhancedParam":"{\"profile\":\"high\",\"preset\":\"veryfast\"}"}
        """#
    static let panes = #"""
        "Layout":{"UserPanes":[
        {"X":"0","Y":"0","Width":"0.5","Height":"1","ZOrder":"0","UserInfo":{"UserId":"host","ChannelId":"room1","SourceType":"camera"}},
        {"X":0.5,"Y":"0","Width":"0.5","Height":"0.5","ZOrder":1,"RenderMode":"0","UserInfo":{"UserId":"guest-b","ChannelId":"room2"}},
        {"X":"0.5","Y":"0.5","Width":"0.5","Height":"0.5","ZOrder":"2","BackgroundImageUrl":"http://127.0.0.1/a.png"}]}
        """#
    static let users = #"""
        "UserInfos":[{"UserId":"host","SourceType":"camera","StreamType":"0"},{"UserId":"guest-é~*"},
        {"UserId":"guest-b","ChannelId":"room2","StreamType":"2"},{"UserId":"radio","StreamType":1}]
        """#
    static let mix = ids.merging([
        "MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/a/1","IsAliCdn":true},{"URL":"rtmp://127.0.0.1/b/1"}]"#,
        "TranscodeParams":
            "{\(users),\"Background\":{\"URL\":\"http://127.0.0.1/bg.png\",\"RenderMode\":\"0\"},\(encoding),\(panes),\"Unknown\":1}",
        "SeiParams":
            #"{"PayloadType":"100","LayoutVolume":{"Interval":2000,"FollowIdr":"1"},"PassThrough":{"PayloadContent":"{\"k\":1}"}}"#,
        "MaxIdleTime": "60", "Region": "CN-Shanghai",
    ]) { $1 }

    private func settings(_ values: [String: String]) throws -> RoomSettings {
        try TaskParameters(starting: Self.parameters(values)).settings(Self.reach)
    }

    private func refusal(_ values: [String: String]) throws -> CallError? {
        let parameters = try Self.parameters(values)
        do throws(CallError) {
            _ = try TaskParameters(starting: parameters).settings(Self.reach)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Meaning

    @Test func oneStream() throws {
        let settings = try settings(Self.single)
        #expect(settings.outputs == [PushDestination(id: "main", url: "rtmp://127.0.0.1/live/s1?auth_key=1")])
        #expect(settings.policy.whenIdle == .finishWithRoom && settings.policy.maxIdleSeconds == 120)
        #expect(settings.program?.composition == .single(SourceSelection(user: "host")))
        #expect(settings.program?.encoding == nil && settings.program?.sei == nil && settings.canvas == nil)
    }

    @Test(arguments: [("H.265", VideoCodec.h265), ("H.264", nil), ("", nil)] as [(String, VideoCodec?)])
    func theCodecIsTheStandardUnlessAnotherIsAskedFor(name: String, codec: VideoCodec?) throws {
        let mix = try #require(Self.mix["TranscodeParams"]).replacing(#"\"high\""#, with: #"\"main\""#)
            .replacing(#""VideoCodec":"H.264","#, with: name.isEmpty ? "" : #""VideoCodec":"\#(name)","#)
        let encoding = try settings(Self.mix.merging(["TranscodeParams": mix]) { $1 }).program?.encoding
        #expect(encoding?.videoCodec == codec && encoding?.profile == .main && encoding?.preset == .veryfast)
    }

    @Test(arguments: [
        (#"{"UserId":"a","StreamType":"0","SourceType":"shareScreen"}"#, SourceSelection(user: "a")),
        (#"{"UserId":"a","StreamType":1}"#, SourceSelection(user: "a", tracks: .audio)),
        (#"{"UserId":"a","StreamType":"2"}"#, SourceSelection(user: "a", kind: .camera, tracks: .video)),
        (
            #"{"UserId": "host 1", "SourceType": "shareScreen", "StreamType": "2"}"#,
            SourceSelection(user: "host 1", kind: .screen, tracks: .video)
        ),
        (#"{"UserId":"\u4e2d","StreamType":null,"SourceType":""}"#, SourceSelection(user: "中")),
    ]) func streamTypes(_ text: String, _ selection: SourceSelection) throws {
        let settings = try settings(Self.single.merging(["SingleSubParams": text]) { $1 })
        #expect(settings.program?.composition == .single(selection))
    }

    @Test func aMix() throws {
        let settings = try settings(Self.mix)
        #expect(settings.outputs?.map(\.id) == ["main", "output-2"])
        #expect(settings.outputs?.map(\.url) == ["rtmp://127.0.0.1/a/1", "rtmp://127.0.0.1/b/1"])
        #expect(settings.policy.whenIdle == .finish && settings.policy.maxIdleSeconds == 60)
        #expect(settings.canvas == RoomCanvas(Canvas(width: 1280, height: 720, fps: 30)))
        #expect(
            settings.program?.encoding
                == EncodingSettings(
                    videoBitrate: 2_000_000, gopFrames: 60, profile: .high, preset: .veryfast, audioBitrate: 128_000,
                    audioChannels: 2, audioSampleRate: 44_100))
        #expect(
            settings.program?.sei
                == SEISettings(
                    payloadType: 100, layoutVolume: .init(intervalMs: 2000, followsIDR: true),
                    passThrough: .init(content: #"{"k":1}"#)))
        guard case .fixed(let composition)? = settings.program?.composition else {
            Issue.record("no mix")
            return
        }
        let guest = SourceSelection(room: "shop/room2", user: "guest-b", tracks: .video)
        #expect(
            composition.sources == [
                SourceSelection(user: "host", kind: .camera), SourceSelection(user: "guest-é~*"), guest,
                SourceSelection(user: "radio", tracks: .audio),
            ])
        #expect(composition.background == FixedBackground(url: "http://127.0.0.1/bg.png", fit: .contain))
        #expect(
            composition.panes == [
                FixedPane(
                    x: UnitFraction(0), y: UnitFraction(0), width: UnitFraction(0.5), height: .whole, z: 0,
                    source: SourceSelection(user: "host", kind: .camera)),
                FixedPane(
                    x: UnitFraction(0.5), y: UnitFraction(0), width: UnitFraction(0.5), height: UnitFraction(0.5), z: 1,
                    fit: .contain, source: SourceSelection(room: "shop/room2", user: "guest-b")),
                FixedPane(
                    x: UnitFraction(0.5), y: UnitFraction(0.5), width: UnitFraction(0.5), height: UnitFraction(0.5),
                    z: 2,
                    placeholder: "http://127.0.0.1/a.png"),
            ])
    }

    /// SDKs send empty lists for panes and users that are not set.
    @Test(arguments: ["", #""Layout":{"UserPanes":[]},"#]) func soundAlone(layout: String) throws {
        let settings = try settings(
            Self.ids.merging([
                "StreamURL": "rtmp://127.0.0.1/live/s1", "MixMode": "1",
                "TranscodeParams":
                    #"{"UserInfos":[],\#(layout)"EncodeParams":{"AudioOnly":true,"AudioBitrate":64,"AudioChannels":1,"AudioSampleRate":"48000"}}"#,
            ]) { $1 })
        #expect(settings.program?.encoding?.audioOnly == true && settings.canvas == nil)
        #expect(settings.program?.composition == .fixed(FixedComposition()))
    }

    /// The parameters are returned as text, without unknown ones.
    @Test func parametersAreGivenBack() throws {
        let parameters = try TaskParameters(starting: Self.parameters(Self.mix))
        let again = try #require(TaskParameters(document: try parameters.document()))
        #expect(again == parameters)
        let text = JSONText.of(again.answer)
        #expect(text.contains(#""VideoHeight":"720""#) && text.contains(#""X":"0.5""#))
        #expect(text.contains(#""IsAliCdn":true"#) && text.contains(#""MixMode":"1""#))
        #expect(text.contains(#""PayloadContent":"{\"k\":1}""#) && text.contains(#""UserId":"guest-é~*""#))
        #expect(!text.contains("Unknown"))
        #expect(TaskParameters(document: "[]") == nil && TaskParameters(document: "?") == nil)
    }

    // MARK: Updates

    @Test func whatIsSuppliedReplacesAndTheRestStays() throws {
        let first = try TaskParameters(starting: Self.parameters(Self.single))
        let settings = try first.settings(Self.reach)
        let mix = try Self.parameters(
            Self.ids.merging(["MixMode": "1", "TranscodeParams": Self.mix["TranscodeParams"] ?? ""]) { $1 })
        let second = try first.updated(with: mix)
        let mixed = try second.settings(Self.reach, replacing: settings)
        #expect(mixed.outputs == settings.outputs, "the destination stays")
        guard case .fixed? = mixed.program?.composition else {
            Issue.record("no mix")
            return
        }
        #expect(!JSONText.of(second.answer).contains("SingleSubParams"))
        let back = try second.updated(with: Self.parameters(Self.ids.merging(["MixMode": "0"]) { $1 }))
        #expect(try back.settings(Self.reach).program?.composition == .single(SourceSelection(user: "host")))
        #expect(!JSONText.of(back.answer).contains("TranscodeParams"))
        // The mix's settings stay while it ends, so that its mixer continues.
        let single = try back.settings(Self.reach)
        #expect(single.canvas == mixed.canvas && single.program?.encoding == mixed.program?.encoding)

        // Empty parameters change nothing.
        let empty = ["MultiStreamURL": "[]", "SeiParams": "", "TranscodeParams": "null"]
        #expect(try first.updated(with: Self.parameters(Self.ids.merging(empty) { $1 })) == first)
        // An update has no payload type.
        let told = try TaskParameters(starting: Self.parameters(Self.mix))
        let retold = try told.updated(
            with: Self.parameters(Self.ids.merging(["SeiParams": #"{"LayoutVolume":{}}"#]) { $1 }))
        #expect(try retold.settings(Self.reach).program?.sei == SEISettings(payloadType: 100, layoutVolume: .init()))
        let custom = retold.withCustomSEI(#"{"a":1}"#)
        #expect(try custom.settings(Self.reach).program?.sei?.custom == #"{"a":1}"#)
        #expect(!JSONText.of(custom.answer).contains("CustomSei"))
    }

    /// A destination that stays keeps its id, and so its connection.
    @Test func destinationsKeepTheirIds() throws {
        let first = try TaskParameters(starting: Self.parameters(Self.mix))
        let old = try first.settings(Self.reach)
        func outputs(_ values: [String: String]) throws -> [String] {
            let new = try first.updated(with: Self.parameters(Self.ids.merging(values) { $1 }))
            return try #require(new.settings(Self.reach, replacing: old).outputs).map { "\($0.id)=\($0.url)" }
        }
        #expect(
            try outputs(["MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/b/1"},{"URL":"rtmp://127.0.0.1/c/1"}]"#])
                == ["output-2=rtmp://127.0.0.1/b/1", "output-3=rtmp://127.0.0.1/c/1"])
        #expect(try outputs(["StreamURL": "rtmp://127.0.0.1/b/1"]) == ["output-2=rtmp://127.0.0.1/b/1"])
    }

    // MARK: Refusals

    /// Changes to a valid call, with the words of the refusal: the parameter and the remedy.
    static let faults: [(changes: [String: String?], code: String, words: [String])] = [
        (["AppId": nil], "MissingParam", ["AppId"]),
        (["ChannelId": nil], "MissingParam", ["ChannelId"]),
        (["TaskId": ""], "MissingParam", ["TaskId"]),
        (["ChannelId": "room 1"], "InvalidParam", ["ChannelId: ", "1 to 64 characters from A-Z"]),
        (["TaskId": String(repeating: "a", count: 56)], "InvalidParam", ["TaskId: ", "1 to 55"]),
        (["TaskId": "auto-room1"], "InvalidParam", ["TaskId: ", "auto-"]),
        (["MixMode": "2"], "InvalidParam", ["MixMode: ", "0 for one stream"]),
        (["MaxIdleTime": "9"], "InvalidParam", ["MaxIdleTime: ", "10…86400"]),
        (["MaxIdleTime": "x"], "InvalidParam", ["MaxIdleTime: "]),
        (["Region": "Mars"], "InvalidParam", ["Region: ", "CN-Shanghai"]),
        (["StreamURL": nil], "MissingParam", ["StreamURL", "MultiStreamURL"]),
        (["StreamURL": "http://127.0.0.1/x"], "InvalidParam", ["StreamURL: ", "rtmp://"]),
        (["StreamURL": "rtmp://cdn.example/live/secret"], "InvalidParam", ["StreamURL: ", "outputs.allow"]),
        (
            ["StreamURL": "rtmp://127.0.0.1/" + String(repeating: "a", count: 2048)], "InvalidParam",
            ["StreamURL: ", "2048"]
        ),
        (["MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/b"}]"#], "InvalidParam", ["MultiStreamURL: ", "StreamURL"]),
        (
            ["StreamURL": nil, "MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/b"},{"IsAliCdn":false}]"#], "MissingParam",
            ["MultiStreamURL[1].URL"]
        ),
        (
            [
                "StreamURL": nil,
                "MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/b/1"},{"URL":"rtmp://127.0.0.1:1935/b/1?x"}]"#,
            ], "InvalidParam", ["MultiStreamURL[1].URL: ", "duplicate"]
        ),
        (
            ["StreamURL": nil, "MultiStreamURL": #"[{"URL":"rtmp://127.0.0.1/b","IsAliCdn":"perhaps"}]"#],
            "InvalidParam", ["MultiStreamURL[0].IsAliCdn: ", "true or false"]
        ),
        (["SingleSubParams": nil], "MissingParam", ["SingleSubParams", "MixMode 0"]),
        (["SingleSubParams": "{"], "InvalidParam", ["SingleSubParams: ", "not JSON"]),
        (["SingleSubParams": "[1]"], "InvalidParam", ["SingleSubParams: ", "a JSON object"]),
        (["SingleSubParams": #"{"StreamType":"0"}"#], "MissingParam", ["SingleSubParams.UserId"]),
        (["SingleSubParams": #"{"UserId":"a","StreamType":"3"}"#], "InvalidParam", ["SingleSubParams.StreamType: "]),
        (["SingleSubParams": #"{"UserId":"a","SourceType":"tv"}"#], "InvalidParam", ["SingleSubParams.SourceType: "]),
        (["SingleSubParams": #"{"UserId":["a"]}"#], "InvalidParam", ["SingleSubParams.UserId: ", "a text"]),
        (["TranscodeParams": "{}"], "InvalidParam", ["TranscodeParams: ", "MixMode=1"]),
        (["SeiParams": #"{"PayloadType":"99"}"#], "InvalidParam", ["SeiParams.PayloadType: ", "100…254"]),
        (
            ["SeiParams": #"{"LayoutVolume":{"Interval":"999"}}"#], "InvalidParam",
            ["SeiParams.LayoutVolume.Interval: ", "1000…5000"]
        ),
        (["SeiParams": #"{"LayoutVolume":{"FollowIdr":"2"}}"#], "InvalidParam", ["SeiParams.LayoutVolume.FollowIdr: "]),
        (["SeiParams": #"{"PassThrough":{}}"#], "MissingParam", ["SeiParams.PassThrough.PayloadContent"]),
    ]

    @Test(arguments: faults.indices) func faultsAreNamed(_ index: Int) throws {
        let fault = Self.faults[index]
        var values = Self.single
        for (name, value) in fault.changes { values[name] = value }
        let error = try refusal(values)
        #expect(error?.code == fault.code, "\(error?.message ?? "taken")")
        for word in fault.words { #expect(error?.message.contains(word) == true, "\(word): \(error?.message ?? "")") }
        #expect(error?.message.contains("secret") != true)
    }

    /// Replacements in the parameters of a mix, with the parameter that the refusal names.
    @Test(arguments: [
        (#""AudioBitrate":"128","#, "", "MissingParam", "TranscodeParams.EncodeParams.AudioBitrate"),
        (#""AudioBitrate":"128""#, #""AudioBitrate":"7""#, "InvalidParam", "AudioBitrate: "),
        (#""AudioChannels":"2""#, #""AudioChannels":"3""#, "InvalidParam", "EncodeParams.AudioChannels: "),
        (#""AudioSampleRate":"44100""#, #""AudioSampleRate":"24000""#, "InvalidParam", "AudioSampleRate: "),
        (#""AudioSampleRate":"44100","#, "", "MissingParam", "AudioSampleRate"),
        (#""AudioOnly":"false""#, #""AudioOnly":"no""#, "InvalidParam", "AudioOnly: "),
        (#""VideoBitrate":"2000""#, #""VideoBitrate":"10001""#, "InvalidParam", "VideoBitrate: "),
        (#""VideoCodec":"H.264""#, #""VideoCodec":"H.266""#, "InvalidParam", "VideoCodec: "),
        // The profile of the example does not exist for H.265.
        (#""VideoCodec":"H.264""#, #""VideoCodec":"H.265""#, "InvalidParam", "EnhancedParam.profile: "),
        (#""VideoFramerate":"30""#, #""VideoFramerate":"61""#, "InvalidParam", "VideoFramerate: "),
        (#""VideoGop":"60""#, #""VideoGop":"0""#, "InvalidParam", "VideoGop: "),
        (#""VideoGop":"60","#, "", "MissingParam", "VideoGop"),
        (#""VideoWidth":"1280""#, #""VideoWidth":"1921""#, "InvalidParam", "VideoWidth: "),
        (#""VideoHeight":720,"#, "", "MissingParam", "VideoHeight"),
        (#"\"high\""#, #"\"highest\""#, "InvalidParam", "EnhancedParam.profile: "),
        (#"\"veryfast\""#, #"\"warp\""#, "InvalidParam", "EnhancedParam.preset: "),
        (#"{\"profile\""#, #"\"profile\""#, "InvalidParam", "EnhancedParam: "),
        (#""Width":"0.5","Height":"1""#, #""Height":"1""#, "MissingParam", "UserPanes[0].Width"),
        (#""Width":"0.5","Height":"1""#, #""Width":"0","Height":"1""#, "InvalidParam", "UserPanes[0].Width: "),
        (#""X":0.5"#, #""X":1.5"#, "InvalidParam", "Layout.UserPanes[1].X: "),
        (#""X":0.5"#, #""X":"left""#, "InvalidParam", "Layout.UserPanes[1].X: "),
        (#""ZOrder":1"#, #""ZOrder":-1"#, "InvalidParam", "UserPanes[1].ZOrder: "),
        (#""ZOrder":1,"#, "", "MissingParam", "UserPanes[1].ZOrder"),
        (#""ZOrder":1,"RenderMode":"0""#, #""ZOrder":1,"RenderMode":"2""#, "InvalidParam", "UserPanes[1].RenderMode: "),
        (
            #""UserInfo":{"UserId":"host""#, #""UserInfo":{"UserId":"stranger""#, "InvalidParam",
            "UserPanes[0].UserInfo.UserId: "
        ),
        (
            #""UserInfo":{"UserId":"host""#, #""UserInfo":{"UserId":"radio""#, "InvalidParam",
            "UserPanes[0].UserInfo.UserId: "
        ),
        (
            #""UserInfo":{"UserId":"guest-b","ChannelId":"room2""#,
            #""UserInfo":{"UserId":"guest-b","ChannelId":"room3""#, "InvalidParam", "UserPanes[1].UserInfo.UserId: "
        ),
        ("http://127.0.0.1/a.png", "http://images.example/a.png", "InvalidParam", "UserPanes[2].BackgroundImageUrl: "),
        ("http://127.0.0.1/bg.png", "rtmp://127.0.0.1/bg.png", "InvalidParam", "TranscodeParams.Background.URL: "),
        (#"{"URL":"http://127.0.0.1/bg.png","#, "{", "MissingParam", "TranscodeParams.Background.URL"),
        (#""AudioOnly":"false""#, #""AudioOnly":"true""#, "InvalidParam", "TranscodeParams.Layout: "),
        (#""StreamType":"0""#, #""StreamType":"9""#, "InvalidParam", "UserInfos[0].StreamType: "),
    ]) func faultsOfAMixAreNamed(_ old: String, _ new: String, _ code: String, _ parameter: String) throws {
        var values = Self.mix
        let text = try #require(values["TranscodeParams"])
        #expect(text.contains(old))
        values["TranscodeParams"] = text.replacing(old, with: new)
        let error = try refusal(values)
        #expect(error?.code == code, "\(error?.message ?? "taken")")
        #expect(error?.message.contains(parameter) == true, "\(error?.message ?? "taken")")
    }

    @Test func mixesNeedTheirParts() throws {
        var values = Self.mix
        values["TranscodeParams"] = nil
        #expect(try refusal(values)?.message.contains("TranscodeParams") == true)
        values["TranscodeParams"] = "{\(Self.panes)}"
        #expect(try refusal(values)?.message.contains("TranscodeParams.EncodeParams") == true)
        values["TranscodeParams"] = "{\(Self.encoding)}"
        #expect(try refusal(values)?.message.contains("TranscodeParams.Layout") == true)
        values["TranscodeParams"] = "{\(Self.encoding),\"Layout\":{\"UserPanes\":[]}}"
        #expect(try refusal(values)?.message.contains("TranscodeParams.Layout.UserPanes") == true)
        values = Self.mix
        values["SingleSubParams"] = #"{"UserId":"a"}"#
        #expect(try refusal(values)?.message.contains("MixMode=0") == true)
        let many = Array(repeating: #"{"X":"0","Y":"0","Width":"1","Height":"1","ZOrder":"0"}"#, count: 17)
        values = Self.mix
        values["TranscodeParams"] = "{\(Self.encoding),\"Layout\":{\"UserPanes\":[\(many.joined(separator: ","))]}}"
        #expect(try refusal(values)?.message.contains("at most 16") == true)
    }
}
