import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Statistics of media servers on a service that is restarted.
@Suite(.timeLimit(.minutes(3))) struct InventoryPollTests {
    private static let secret = "S3CR3T-hook-0123456789"

    /// The statistics of a server on which these names publish.
    private static func statistics(_ hook: String, _ names: [String]) -> String {
        switch hook {
        case "nginx-rtmp":
            "<rtmp><server><application><name>live</name><live>"
                + names.enumerated().map { number, name in
                    "<stream><name>\(name)</name><client><id>\(number + 40)</id><publishing/></client></stream>"
                }.joined() + "</live></application></server></rtmp>"
        case "srs":
            #"{"code":0,"streams":["#
                + names.map {
                    #"{"name":"\#($0)","app":"live","url":"/live/\#($0)","publish":{"active":true,"cid":"\#($0)"}}"#
                }.joined(separator: ",") + "]}"
        case "mediamtx":
            #"{"itemCount":1,"pageCount":1,"items":["#
                + names.map { #"{"name":"live/\#($0)","ready":true,"source":{"type":"rtmpConn","id":"\#($0)"}}"# }
                .joined(separator: ",") + "]}"
        default:
            #"{"statusCode":200,"message":"OK","response":["# + names.map { "\"\($0)\"" }.joined(separator: ",") + "]}"
        }
    }

    private static let paths = [
        "nginx-rtmp": "/stat", "srs": "/api/v1/streams/", "mediamtx": "/v3/paths/list",
        "ovenmediaengine": "/v1/vhosts/default/apps/live/streams",
    ]

    private static func settings(_ hook: String, poll: String, _ more: [String: [String]] = [:]) -> [String: [String]] {
        [
            "hooks.\(hook).secret": [secret], "hooks.\(hook).allow": ["*"],
            "hooks.\(hook).url": ["rtmp://127.0.0.1:1935/{app}/{name}"], "hooks.\(hook).poll": [poll],
            "hooks.\(hook).pollSeconds": ["1"],
        ].merging(more) { $1 }
    }

    private func users(_ bench: Bench) async throws -> [String] {
        let answer = try await bench.call(.get, "/v1/rooms/lobby")
        guard answer.status == 200 else { return [] }
        var users: [String] = []
        while let user = try answer.value("participants.\(users.count).user") { users.append(user) }
        return users.sorted()
    }

    @Test(arguments: ["nginx-rtmp", "srs", "mediamtx", "ovenmediaengine"])
    func whatWasNotReportedBecomesKnown(_ hook: String) async throws {
        let answers = LockedBox(Self.statistics(hook, ["lobby__alice", "lobby__bob"]))
        let authorizations = LockedBox("")
        let path = try #require(Self.paths[hook])
        try await withImageServer({ router in
            router.get("**") { request, _ -> Response in
                guard request.uri.path == path else { return Response(status: .notFound) }
                authorizations.value = request.headers[.authorization] ?? "none"
                return imageResponse(Array(answers.value.utf8), type: "application/json")
            }
        }) { base in
            try await withDirectory { directory in
                let settings = Self.settings(
                    hook, poll: base + path, ["hooks.\(hook).pollSecret": ["admin:S3CR3T"]])
                try await withOrchestrator(directory: directory, settings: settings) { (bench: Bench) async throws in
                    // Nothing was reported before the restart.
                    try await eventually { try await users(bench) == ["alice", "bob"] ? true : nil }
                    try await bench.publish("carol", room: "lobby")
                    // The correction is counted a moment after the event.
                    try await eventually {
                        try await bench.call(.get, "/metrics").text.contains(
                            "hook_corrections_total{hook=\"\(hook)\",change=\"began\"} 2") ? true : nil
                    }
                }
                #expect(authorizations.value == "Basic " + Data("admin:S3CR3T".utf8).base64EncodedString())
                answers.value = Self.statistics(hook, ["lobby__bob", "lobby__dave", "of no room"])
                try await withOrchestrator(directory: directory, settings: settings) { (bench: Bench) async throws in
                    // The stream that the app server announced stays, although no media server lists it.
                    try await eventually { try await users(bench) == ["bob", "carol", "dave"] ? true : nil }
                    for change in ["began", "ended"] {
                        try await eventually {
                            try await bench.call(.get, "/metrics").text.contains(
                                "hook_corrections_total{hook=\"\(hook)\",change=\"\(change)\"} 1") ? true : nil
                        }
                    }
                    #expect(!bench.log.text.contains("S3CR3T"), "the log shows a secret")
                }
            }
        }
    }

    /// A stream of the first page ends before the second one is read, so that the rest moves up.
    @Test func noStreamIsMissedBetweenTwoPages() async throws {
        let names = LockedBox((0..<150).map { "s\($0)" })
        try await withImageServer({ router in
            router.get("**") { request, _ -> Response in
                let start = request.uri.queryParameters["start"].flatMap { Int($0) } ?? 0
                let page = Array(names.value.dropFirst(start).prefix(100))
                if names.value.count == 150 { names.update { $0 = Array($0.dropFirst()) } }
                return imageResponse(Array(Self.statistics("srs", page).utf8), type: "application/json")
            }
        }) { base in
            let streams = try await InventoryFetch().streams(
                of: SRSInventory(), at: StreamURL(base + "/api/v1/streams/"), credentials: nil)
            #expect(Set(streams.compactMap(\.name)).isSuperset(of: (1..<150).map { "s\($0)" }))
        }
    }

    /// A node leaves streams to the nodes that have their rooms, and does not complain about them.
    @Test func nodesCompareTheirOwnRooms() async throws {
        let answers = LockedBox(Self.statistics("nginx-rtmp", ["lobby__alice"]))
        let asked = LockedBox(0)
        try await withImageServer({ router in
            router.get("stat") { _, _ -> Response in
                asked.update { $0 += 1 }
                return imageResponse(Array(answers.value.utf8), type: "application/xml")
            }
        }) { base in
            try await withCluster(settings: Self.settings("nginx-rtmp", poll: base + "/stat")) { start in
                let a = try await start("a", nil)
                try await eventually { try await a.call("GET", "/v1/rooms/lobby").text.contains("alice") ? true : nil }
                let b = try await start("b", nil)
                answers.value = Self.statistics("nginx-rtmp", ["lobby__alice", "lobby__bob"])
                try await eventually { try await a.call("GET", "/v1/rooms/lobby").text.contains("bob") ? true : nil }
                let before = asked.value
                try await eventually { asked.value >= before + 6 ? true : nil }
                #expect(!b.log.text.contains("could not be compared"), "\(b.log.text)")
            }
        }
    }

    /// No participant leaves because statistics cannot be read.
    @Test(arguments: ["nothing", "redirect", "odd", "long", "other"])
    func aFailureChangesNothing(_ kind: String) async throws {
        let isAsked = LockedFlag()
        try await withImageServer({ router in
            router.get("stat") { _, _ -> Response in
                isAsked.value = true
                return switch kind {
                case "nothing": Response(status: .internalServerError)
                case "redirect":
                    Response(status: .found, headers: [.location: "/elsewhere"])
                case "odd": imageResponse(Array("<html/>".utf8))
                case "long": imageResponse(Array(repeating: 0x20, count: (16 << 20) + 1))
                default: imageResponse(Array(#"{"code":0,"streams":[]}"#.utf8))
                }
            }
            router.get("elsewhere") { _, _ -> Response in
                imageResponse(Array(Self.statistics("nginx-rtmp", []).utf8))
            }
        }) { base in
            try await withDirectory { directory in
                let form = "clientid=1&app=live&call=publish&name=lobby__alice"
                var settings = Self.settings("nginx-rtmp", poll: base + "/stat")
                settings["hooks.nginx-rtmp.poll"] = nil
                settings["hooks.nginx-rtmp.pollSeconds"] = nil
                try await withOrchestrator(directory: directory, settings: settings) { (bench: Bench) async throws in
                    let answer = try await bench.call(
                        .post, "/v1/hooks/nginx-rtmp?token=\(Self.secret)", form,
                        headers: [.contentType: "application/x-www-form-urlencoded"])
                    #expect(answer.status == 204)
                }
                settings = Self.settings("nginx-rtmp", poll: base + "/stat")
                try await withOrchestrator(directory: directory, settings: settings) { (bench: Bench) async throws in
                    try await eventually {
                        try await bench.call(.get, "/metrics").text.contains(
                            "hook_polls_total{hook=\"nginx-rtmp\",result=\"failed\"}") ? true : nil
                    }
                    #expect(isAsked.value)
                    #expect(try await users(bench) == ["alice"])
                    try await eventually {
                        bench.log.text.contains("the statistics of nginx-rtmp cannot be read") ? true : nil
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("hooks.srs.poll", ["ftp://127.0.0.1/stat"], "http://"),
        ("hooks.srs.poll", ["http://u:p@127.0.0.1/stat"], "http://"),
        ("hooks.srs.pollSeconds", ["0"], "1…3600"), ("hooks.srs.arguments", ["true"], "either of them"),
        ("hooks.srs.secret", [], "enables the hook"),
        ("hooks.srs.poll", Array(repeating: "http://h/", count: 17), "at most 16"),
    ]) func mistakesInTheConfigurationNameTheCure(_ key: String, _ value: [String], _ expected: String) async throws {
        try await withDirectory { directory in
            var settings = Self.settings("srs", poll: "http://127.0.0.1:1/")
            settings[key] = value.isEmpty ? nil : value
            #expect {
                _ = try testConfiguration(directory, settings)
            } throws: { "\($0)".contains(expected) && !"\($0)".contains("u:p@") }
        }
    }

    @Test func onlyServersWithStatisticsCanBePolled() {
        #expect(ConfigurationKeys.known["hooks.livekit.poll"] == nil)
        #expect(ConfigurationKeys.known["hooks.livekit.patterns"] == nil)
        #expect(
            ConfigurationKeys.known["hooks.srs.poll"] != nil && ConfigurationKeys.known["hooks.srs.patterns"] != nil)
    }

    /// LiveKit's secret consists of a key and its secret.
    @Test func theSecretOfLiveKitHasAForm() async throws {
        try await withDirectory { directory in
            #expect {
                _ = try testConfiguration(directory, ["hooks.livekit.secret": ["0123456789abcdef"]])
            } throws: { "\($0)".contains("KEY:SECRET") && !"\($0)".contains("0123456789abcdef") }
            let good = try testConfiguration(directory, ["hooks.livekit.secret": ["key:0123456789abcdef"]])
            #expect(good.hooks.settings["livekit"] != nil)
        }
    }
}
