import Crypto
import EventSubscription
import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// Callbacks of RTC clouds and of other media servers on a whole service: signatures, answers, repeated deliveries.
@Suite(.timeLimit(.minutes(5))) struct CloudHookTests {
    private static let secret = "S3CR3T-hook-0123456789"
    private static let names = ["srs", "mediamtx", "ovenmediaengine", "ant-media", "trtc", "agora", "apsaravideo"]

    private func withHooks(
        _ changes: [String: [String]] = [:], _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        var settings = ["http.rate.failures": ["0"]]
        for name in Self.names + ["livekit"] {
            settings["hooks.\(name).secret"] = [Self.secret]
            settings["hooks.\(name).allow"] = ["*"]
            settings["hooks.\(name).url"] = ["rtmp://127.0.0.1:1935/live/{room}__{user}"]
        }
        settings["hooks.livekit.secret"] = ["APIkey:\(Self.secret)"]
        settings = settings.merging(changes) { $1 }.filter { !$0.value.isEmpty }
        try await withDirectory { [settings] directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: settings) {
                (bench: Bench) async throws in
                try await body(bench)
                #expect(!bench.log.text.contains("S3CR3T"), "the log shows a secret")
            }
        }
    }

    private func send(
        _ bench: Bench, _ hook: String, _ body: String, _ headers: [String: String] = [:], token: Bool = false
    ) async throws -> Answer {
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        return try await bench.call(
            .post, "/v1/hooks/\(hook)" + (token ? "?token=\(Self.secret)" : ""), body, headers: fields)
    }

    private func users(_ bench: Bench, _ room: String = "lobby") async throws -> [String] {
        let answer = try await bench.call(.get, "/v1/rooms/\(room)")
        guard answer.status == 200 else { return [] }
        var users: [String] = []
        while let user = try answer.value("participants.\(users.count).user") { users.append(user) }
        return users
    }

    private func metric(_ text: String, _ bench: Bench) async throws -> Bool {
        try await bench.call(.get, "/metrics").text.contains(text)
    }

    private static func hmac(_ hash: HookSignature.Hash, _ body: String) -> Data {
        Data(HookSignature.hmac(hash, of: Array(body.utf8), key: HookSecret(secret)))
    }

    private static func hex(_ data: Data) -> String {
        data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: LiveKit

    private static func token(_ body: String, lifetime: Double = 300) -> String {
        func encoded(_ data: Data) -> String {
            data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let now = Date().timeIntervalSince1970
        let digest = Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
        let claims = #"{"iss":"APIkey","exp":\#(Int(now + lifetime)),"nbf":\#(Int(now) - 1),"sha256":"\#(digest)"}"#
        let text = encoded(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + encoded(Data(claims.utf8))
        return text + "." + encoded(hmac(.sha256, text))
    }

    private static func liveKit(_ event: String, id: String, at time: Int, track: String = "") -> String {
        #"{"event":"\#(event)","room":{"name":"lobby"},"participant":{"identity":"alice"}\#(track),"id":"\#(id)","createdAt":"\#(time)"}"#
    }

    @Test func participantsOfLiveKitComeAndGo() async throws {
        try await withHooks { (bench: Bench) async throws in
            func arrive(_ body: String, lifetime: Double = 300) async throws -> Answer {
                try await send(
                    bench, "livekit", body,
                    ["Content-Type": "application/webhook+json", "Authorization": Self.token(body, lifetime: lifetime)])
            }
            let joined = Self.liveKit("participant_joined", id: "EV_1", at: 100)
            #expect(try await arrive(joined, lifetime: -120).status == 401, "expired")
            #expect(try await send(bench, "livekit", joined, ["Authorization": Self.token(joined + " ")]).status == 401)
            #expect(try await users(bench).isEmpty)
            for _ in 0..<3 { #expect(try await arrive(joined).status == 200) }
            #expect(try await metric("events_total{outcome=\"duplicate\"} 2\n", bench))
            #expect(try await users(bench) == ["alice"])
            let track = #","track":{"sid":"TR_1","type":"VIDEO","source":"CAMERA"}"#
            #expect(try await arrive(Self.liveKit("track_published", id: "EV_2", at: 101, track: track)).status == 200)
            let room = try await bench.call(.get, "/v1/rooms/lobby")
            #expect(try room.value("participants.0.streams.0.stream") == "camera")
            #expect(
                try await arrive(Self.liveKit("track_unpublished", id: "EV_3", at: 102, track: track)).status == 200)
            #expect(try await bench.call(.get, "/v1/rooms/lobby").isTrue("participants.0.streams.0.video") == false)
            // A microphone does not turn the camera on.
            let sound = #","track":{"sid":"TR_2","source":"MICROPHONE"}"#
            #expect(try await arrive(Self.liveKit("track_published", id: "EV_4", at: 103, track: sound)).status == 200)
            #expect(try await bench.call(.get, "/v1/rooms/lobby").isTrue("participants.0.streams.0.video") == false)
            #expect(try await arrive(Self.liveKit("participant_left", id: "EV_5", at: 104)).status == 200)
            #expect(try await users(bench).isEmpty)
        }
    }

    // MARK: TRTC and Agora

    @Test func participantsOfTRTCComeAndGo() async throws {
        try await withHooks(["hooks.trtc.url": []]) { (bench: Bench) async throws in
            func arrive(_ group: Int, _ type: Int, _ time: Int) async throws -> Answer {
                let body =
                    #"{"EventGroupId":\#(group),"EventType":\#(type),"CallbackTs":9,"EventInfo":{"RoomId":815,"#
                    + #""EventTs":\#(time / 1000),"EventMsTs":\#(time),"UserId":"alice","Role":20}}"#
                return try await send(
                    bench, "trtc", body, ["Sign": Self.hmac(.sha256, body).base64EncodedString(), "SdkAppId": "1400"])
            }
            let answer = try await arrive(1, 103, 1000)
            #expect(answer.status == 200 && answer.text == #"{"code":0}"#)
            #expect(answer.headers[.contentType] == "application/json")
            #expect(try await arrive(2, 201, 1100).status == 200)
            #expect(try await users(bench, "815") == ["alice"])
            // A stream without a URL is not pulled.
            #expect(try await bench.call(.get, "/v1/rooms/815").value("participants.0.streams.0.stream") == nil)
            #expect(try await arrive(9, 901, 1200).text == #"{"code":0}"#, "an unknown type is success")
            #expect(try await arrive(1, 104, 2000).status == 200)
            #expect(try await users(bench, "815").isEmpty)
            let body = #"{"EventGroupId":1,"EventType":103}"#
            #expect(try await send(bench, "trtc", body, ["Sign": "AAAA"]).status == 401)
        }
    }

    @Test func usersOfAgoraComeAndGo() async throws {
        try await withHooks { (bench: Bench) async throws in
            func arrive(_ type: Int, _ seq: Int, _ header: String = "Agora-Signature-V2") async throws -> Answer {
                let body =
                    #"{"noticeId":"\#(type):\#(seq)","productId":1,"eventType":\#(type),"notifyMs":1,"sid":"s","payload":"#
                    + #"{"channelName":"lobby","uid":7,"clientSeq":\#(seq),"ts":100}}"#
                let hash: HookSignature.Hash = header.hasSuffix("V2") ? .sha256 : .sha1
                return try await send(bench, "agora", body, [header: Self.hex(Self.hmac(hash, body))])
            }
            #expect(try await arrive(103, 30).text == #"{"code":0}"#)
            #expect(try await arrive(104, 20, "Agora-Signature").status == 200)
            #expect(try await users(bench) == ["7"], "an earlier stay ended late")
            #expect(try await arrive(104, 40).status == 200)
            #expect(try await users(bench).isEmpty)
            #expect(try await send(bench, "agora", "{}", ["Agora-Signature-V2": "00"]).status == 401)
        }
    }

    // MARK: Media servers

    @Test func everyServerGetsItsAnswer() async throws {
        try await withHooks { (bench: Bench) async throws in
            let srs =
                #"{"action":"on_publish","client_id":"1","vhost":"__defaultVhost__","app":"live","stream":"a__srs","param":""}"#
            var answer = try await send(bench, "srs", srs, token: true)
            #expect(answer.status == 200 && answer.text == #"{"code":0}"#)
            answer = try await bench.call(
                .post, "/v1/hooks/mediamtx/\(Self.secret)", "event=ready&path=live/a__mtx&source_id=1",
                headers: [.contentType: "application/x-www-form-urlencoded"])
            #expect(answer.status == 204)
            let ome =
                #"{"client":{"address":"1.2.3.4","port":5},"request":{"direction":"incoming","status":"opening","url":"rtmp://h/app/a__ome"}}"#
            let sign = Self.hmac(.sha1, ome).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            answer = try await send(bench, "ovenmediaengine", ome, ["X-OME-Signature": sign])
            #expect(answer.status == 200 && answer.text == #"{"allowed":true}"#)
            #expect(try await send(bench, "ovenmediaengine", ome + " ", ["X-OME-Signature": sign]).status == 401)
            let ant = #"{"id":"a__ant","action":"liveStreamStarted","app":"live","timestamp":"1769860800123"}"#
            for _ in 0..<2 { #expect(try await send(bench, "ant-media", ant, token: true).status == 200) }
            let apsara =
                #"{"MsgId":"m","MsgTimestamp":1,"AppId":"x","ChannelID":"a","Contents":[{"Event":"UserEvent","UserEvent":{"UserId":"apsara","EventTag":"Publish","Timestamp":1,"Role":1}}]}"#
            answer = try await send(bench, "apsaravideo", apsara, token: true)
            #expect(answer.status == 200 && answer.text == #"{"code":0}"#)
            #expect(try await users(bench, "a") == ["srs", "mtx", "ome", "ant", "apsara"])
        }
    }

    @Test func whoKnowsNoSecretIsRefused() async throws {
        try await withHooks { (bench: Bench) async throws in
            for name in Self.names + ["livekit"] {
                for path in ["", "?token=wrong", "/wrong"] {
                    let answer = try await bench.call(.post, "/v1/hooks/\(name)\(path)", "{}")
                    #expect(answer.status == 401, "\(name)\(path)")
                    #expect(!answer.text.contains("S3CR3T"))
                }
            }
        }
    }

    @Test func refusalsAreToldInTheServersWords() async throws {
        try await withHooks(["hooks.unmatched": ["refuse"]]) { (bench: Bench) async throws in
            let srs = #"{"action":"on_publish","client_id":"1","app":"live","stream":"S3CR3T-key"}"#
            var answer = try await send(bench, "srs", srs, token: true)
            #expect(answer.status == 403 && answer.text.hasPrefix(#"{"code":403,"msg":"the name does not fit"#))
            let ome = #"{"request":{"direction":"incoming","status":"opening","url":"rtmp://h/app/S3CR3T-key"}}"#
            let sign = Self.hmac(.sha1, ome).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            answer = try await send(bench, "ovenmediaengine", ome, ["X-OME-Signature": sign])
            #expect(answer.status == 200 && answer.text.hasPrefix(#"{"allowed":false,"reason":"the name does not fit"#))
            let question = #"{"action":"publish","path":"live/S3CR3T-key","ip":"10.0.0.1"}"#
            answer = try await send(bench, "mediamtx", question, token: true)
            #expect(answer.status == 403 && answer.text.contains("does not fit"))
            let api = #"{"action":"api","path":"","ip":"10.0.0.1"}"#
            answer = try await send(bench, "mediamtx", api, token: true)
            #expect(answer.status == 403 && answer.text.contains("authHTTPExclude"))
            let ant = #"{"mode":"publish","appName":"live","streamId":"S3CR3T-key"}"#
            #expect(try await send(bench, "ant-media", ant, token: true).status == 403)
        }
    }

    /// Runs the commands of the documentation unchanged, in a shell.
    @Test(arguments: ["srs", "mediamtx", "ovenmediaengine", "ant-media", "trtc", "agora", "apsaravideo"])
    func theCommandsOfThePagesWork(_ name: String) async throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../docs/integrations/\(name).md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "## See that it works").last)
        let script = try #require(section.components(separatedBy: "```").dropFirst().first)
        try await withDirectory { directory in
            let settings = [
                "hooks.\(name).secret": [Self.secret], "hooks.\(name).url": ["rtmp://127.0.0.1:1935/live/{user}"],
            ]
            try await withOrchestrator(.live, directory: directory, store: MemoryTaskStore(), settings: settings) {
                (bench: Bench) async throws in
                let port = try #require(bench.client.port)
                let answers = try await Self.shell(
                    script.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)").replacing("SECRET", with: Self.secret)
                )
                #expect(!answers.contains("urn:mixorchestrator:problem"), "\(answers)")
                #expect(answers.contains("\"participants\":[{"), "\(answers)")
            }
        }
    }

    /// Runs the commands that MediaMTX runs, with its variables.
    @Test func theCommandsOfMediaMTXWork() async throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../docs/integrations/mediamtx.md"), encoding: .utf8)
        let lines = page.components(separatedBy: "\n")
        @Sendable func command(_ key: String) throws -> String {
            let start = try #require(lines.firstIndex { $0.contains("\(key): >-") })
            return lines[(start + 1)...(start + 2)].joined(separator: " ")
        }
        try await withDirectory { directory in
            let settings = [
                "hooks.mediamtx.secret": [Self.secret], "hooks.mediamtx.url": ["rtmp://127.0.0.1:1935/{app}/{name}"],
            ]
            try await withOrchestrator(.live, directory: directory, store: MemoryTaskStore(), settings: settings) {
                (bench: Bench) async throws in
                let port = try #require(bench.client.port)
                let variables = "MTX_PATH=live/lobby__alice MTX_SOURCE_TYPE=rtmpConn MTX_SOURCE_ID=5a1f7d1e\n"
                for (key, expected) in [("runOnReady", ["alice"]), ("runOnNotReady", [])] {
                    let line = try command(key).replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
                        .replacing("SECRET", with: Self.secret)
                    #expect(try await Self.shell(variables + line) == "")
                    #expect(try await users(bench) == expected, "\(key)")
                }
            }
        }
    }

    /// Returns the output of a script. Its calls may take longer than in operation, since other tests keep the cores
    /// busy.
    private static func shell(_ script: String) async throws -> String {
        try await outputOfShell(script.replacing("-m 10", with: "-m 100"))
    }
}
