import EventSubscription
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Callbacks of media servers on a whole service.
@Suite(.timeLimit(.minutes(5))) struct HookRouteTests {
    private static let secret = "S3CR3T-hook-0123456789"
    static let settings = [
        // Test requests may have no remote address.
        "hooks.nginx-rtmp.secret": [secret], "hooks.nginx-rtmp.allow": ["*"],
        "hooks.nginx-rtmp.url": ["rtmp://127.0.0.1:1935/{app}/{name}"],
    ]

    private func withHooks(
        _ changes: [String: [String]] = [:], store: (any TaskStore)? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: store ?? MemoryTaskStore(),
                settings: Self.settings.merging(changes) { $1 }
            ) { (bench: Bench) async throws in
                try await body(bench)
                #expect(!bench.log.text.contains("S3CR3T"), "the log shows a secret")
                #expect(
                    try await bench.call(.get, "/metrics", headers: AccessTests.bearer("all")).text.contains("S3CR3T")
                        == false)
            }
        }
    }

    private static func form(_ call: String, _ name: String, client: Int = 7, _ more: String = "") -> String {
        "app=live&flashver=&swfurl=&tcurl=&pageurl=&addr=10.0.0.1&clientid=\(client)&call=\(call)&name=\(name)" + more
    }

    private func send(
        _ bench: Bench, _ call: String, _ name: String, client: Int = 7, _ more: String = "",
        path: String = "/v1/hooks/nginx-rtmp?token=\(secret)"
    ) async throws -> Answer {
        try await bench.call(
            .post, path, Self.form(call, name, client: client, more),
            headers: [.contentType: "application/x-www-form-urlencoded"])
    }

    private func users(_ bench: Bench, _ room: String = "lobby", app: String? = nil) async throws -> Int {
        let answer = try await bench.call(.get, "/v1/rooms/\(room)\(app.map { "?app=\($0)" } ?? "")")
        guard answer.status == 200 else { return -1 }
        var count = 0
        while try answer.value("participants.\(count).user") != nil { count += 1 }
        return count
    }

    private func count(_ result: String, hook: String = "nginx-rtmp", _ bench: Bench) async throws -> String? {
        let text = try await bench.call(.get, "/metrics").text
        let prefix = "hook_calls_total{hook=\"\(hook)\",result=\"\(result)\"} "
        return text.split(separator: "\n").first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    // MARK: Streams

    @Test func publishersComeAndGo() async throws {
        try await withHooks { (bench: Bench) async throws in
            let answer = try await send(bench, "publish", "lobby__alice")
            #expect(answer.status == 204 && answer.text.isEmpty, "\(answer.text)")
            try await bench.plan { $0.mode == .bypass("alice/camera") }
            #expect(try await send(bench, "publish", "lobby__bob", client: 8).status == 204)
            try await bench.plan { $0.sources.count == 2 }
            #expect(try await send(bench, "update_publish", "lobby__bob", client: 8).status == 204)
            #expect(try await count("repeated", bench) == "1")
            #expect(try await send(bench, "publish_done", "lobby__bob", client: 8).status == 204)
            #expect(try await send(bench, "done", "lobby__bob", client: 8).status == 204)
            try await bench.plan { $0.mode == .bypass("alice/camera") && $0.sources.count == 1 }
            #expect(try await users(bench) == 1)
            #expect(try await count("accepted", bench) == "3")
            let plan = try #require(bench.relays.started.last?.plan)
            #expect(plan.sources.map(\.url) == ["rtmp://127.0.0.1:1935/live/lobby__alice"])
        }
    }

    @Test func aLateEndTakesNobodyOff() async throws {
        try await withHooks { (bench: Bench) async throws in
            _ = try await send(bench, "publish", "lobby__alice", client: 7)
            _ = try await send(bench, "publish", "lobby__alice", client: 9)
            #expect(try await send(bench, "publish_done", "lobby__alice", client: 7).status == 204)
            #expect(try await users(bench) == 1)
            // A restarted server counts from 1 again.
            _ = try await send(bench, "publish", "lobby__alice", client: 1)
            #expect(try await users(bench) == 1)
        }
    }

    @Test func getWorksWithTheSecretInThePath() async throws {
        try await withHooks { (bench: Bench) async throws in
            let path = "/v1/hooks/nginx-rtmp/\(Self.secret)?"
            #expect(try await bench.call(.get, path + Self.form("publish", "lobby__alice")).status == 204)
            #expect(try await users(bench) == 1)
            let wrong = try await bench.call(.get, "/v1/hooks/nginx-rtmp/wrong?" + Self.form("publish", "lobby__eve"))
            #expect(wrong.status == 401)
            #expect(try await users(bench) == 1)
            let post = try await send(bench, "publish", "lobby__bob", path: "/v1/hooks/nginx-rtmp/\(Self.secret)")
            #expect(post.status == 204)
            let bearer = try await bench.call(
                .post, "/v1/hooks/nginx-rtmp", Self.form("publish", "lobby__carol"),
                headers: [.authorization: "Bearer \(Self.secret)"])
            #expect(bearer.status == 204)
            #expect(try await users(bench) == 3)
        }
    }

    @Test func othersAreAcceptedAndIgnored() async throws {
        try await withHooks { (bench: Bench) async throws in
            for call in ["play", "connect", "update_play", "play_done", "record_done", "new"] {
                #expect(try await send(bench, call, "lobby__alice").status == 204, "\(call)")
            }
            #expect(try await users(bench) == -1)
            #expect(try await count("ignored", bench) == "6")
        }
    }

    @Test func roomsBelongToTheConfiguredApp() async throws {
        let settings = ["apps.0.id": ["shop"], "hooks.nginx-rtmp.app": ["shop"]]
        try await withHooks(settings) { (bench: Bench) async throws in
            #expect(try await send(bench, "publish", "lobby__alice").status == 204)
            #expect(try await users(bench, app: "shop") == 1)
            #expect(try await users(bench) == -1)
        }
    }

    // MARK: Refusals that change nothing

    @Test func whoDoesNotKnowTheSecretIsRefused() async throws {
        try await withHooks(["http.rate.failures": ["0"]]) { (bench: Bench) async throws in
            for path in ["", "?token=", "?token=wrong", "?token=\(Self.secret)x", "/wrong", "?Token=\(Self.secret)"] {
                let answer = try await send(bench, "publish", "lobby__eve", path: "/v1/hooks/nginx-rtmp" + path)
                #expect(answer.status == 401, "\(path)")
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:hook-unauthorized")
                #expect(answer.headers[.wwwAuthenticate] != nil)
            }
            #expect(try await users(bench) == -1)
            #expect(try await count("unauthorized", bench) == "6")
        }
    }

    @Test func guessingIsSlowed() async throws {
        try await withHooks(["http.rate.failures": ["2"]]) { (bench: Bench) async throws in
            let path = "/v1/hooks/nginx-rtmp?token=wrong"
            let answer = try await eventually {
                let answer = try await send(bench, "publish", "lobby__eve", path: path)
                return answer.status == 429 ? answer : nil
            }
            #expect(answer.headers[.retryAfter] != nil)
            #expect(try answer.value("detail")?.contains("http.rate.failures") == true)
        }
    }

    /// Behind a proxy, all clients have the media server's address: their guesses must not make it drop publishers.
    @Test func theSecretCountsWhileOthersGuess() async throws {
        try await withHooks(["http.rate.failures": ["1"]]) { (bench: Bench) async throws in
            let path = "/v1/hooks/nginx-rtmp?token=wrong"
            try await eventually {
                try await send(bench, "publish", "lobby__eve", path: path).status == 429 ? true : nil
            }
            #expect(try await send(bench, "publish", "lobby__alice").status == 204)
        }
    }

    /// The API's tokens do not open the hook, and the hook's secret does not open the API.
    @Test func tokensAndSecretsAreNotExchanged() async throws {
        let settings = AccessTests.apps().merging(["http.rate.failures": ["0"]]) { $1 }
        try await withHooks(settings) { (bench: Bench) async throws in
            let path = "/v1/hooks/nginx-rtmp"
            let token = try await bench.call(
                .post, path, Self.form("publish", "lobby__eve"), headers: AccessTests.bearer("all"))
            #expect(token.status == 401)
            #expect(try await send(bench, "publish", "lobby__alice").status == 204)
            for uri in ["/v1/rooms", "/v1/rooms?token=\(Self.secret)", "/metrics?token=\(Self.secret)"] {
                let answer = try await bench.call(.get, uri, headers: [.authorization: "Bearer \(Self.secret)"])
                #expect(answer.status == 401, "\(uri)")
            }
            #expect(try await bench.call(.post, path + "?token=\(Self.secret)&app=shop", "call=connect").status == 204)
        }
    }

    @Test func unknownAndDisabledHooksNameTheCure() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { (bench: Bench) async throws in
                let disabled = try await bench.call(.post, "/v1/hooks/nginx-rtmp?token=x", "call=publish")
                #expect(disabled.status == 404)
                #expect(try disabled.value("type") == "urn:mixorchestrator:problem:hook-not-enabled")
                #expect(try disabled.value("expected")?.contains("hooks.nginx-rtmp.secretFile") == true)
                let unknown = try await bench.call(.get, "/v1/hooks/ngnix-rtmp/secret?call=publish")
                #expect(unknown.status == 404)
                #expect(try unknown.value("detail")?.contains("did you mean \"nginx-rtmp\"?") == true)
                #expect(try await count("disabled", bench) == "1")
                #expect(try await count("unknown", hook: "other", bench) == "1")
                for number in 0..<50 { _ = try await bench.call(.post, "/v1/hooks/h\(number)", "") }
                #expect(try await count("unknown", hook: "other", bench) == "51")
            }
        }
    }

    /// Sends over real connections, which come from 127.0.0.1.
    @Test func addressesOutsideTheListAreRefused() async throws {
        for (allowed, status) in [([], 204), (["127.0.0.1"], 204), (["10.0.0.7"], 403)] as [([String], Int)] {
            try await withDirectory { directory in
                try await withOrchestrator(
                    .live, directory: directory, store: MemoryTaskStore(),
                    settings: Self.settings.merging(["hooks.nginx-rtmp.allow": allowed]) { $1 }
                ) { (bench: Bench) async throws in
                    let answer = try await send(bench, "publish", "lobby__alice")
                    #expect(answer.status == status, "\(allowed)")
                    #expect(try await users(bench) == (status == 204 ? 1 : -1))
                    guard status == 403 else { return }
                    #expect(try answer.value("expected")?.contains("hooks.nginx-rtmp.allow") == true)
                }
            }
        }
    }

    /// nginx speaks HTTP/1.0 and reads until the connection is closed.
    @Test func callsOfOldHTTPAreAnswered() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(),
                settings: Self.settings.merging(["hooks.nginx-rtmp.allow": []]) { $1 }
            ) { (bench: Bench) async throws in
                let connection = try await RawConnection.open(try #require(bench.client.port))
                let form = Self.form("publish", "lobby__alice")
                connection.send(
                    "POST /v1/hooks/nginx-rtmp?token=\(Self.secret) HTTP/1.0\r\nHost: 127.0.0.1\r\n"
                        + "Content-Type: application/x-www-form-urlencoded\r\nConnection: Close\r\n"
                        + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)")
                try await eventually { connection.isClosed ? true : nil }
                // nginx examines the first digit of the status, and reads at most 1024 bytes.
                #expect(
                    connection.text.hasPrefix("HTTP/1.1 204 ") || connection.text.hasPrefix("HTTP/1.0 204 "),
                    "\(connection.text)")
                #expect(connection.text.utf8.count < 1024)
                #expect(try await users(bench) == 1)
            }
        }
    }

    @Test func namesThatFitNoPatternAreAllowedOrRefused() async throws {
        for (rule, status) in [("allow", 204), ("refuse", 403)] {
            try await withHooks(["hooks.unmatched": [rule]]) { (bench: Bench) async throws in
                let answer = try await send(bench, "publish", "S3CR3T-key")
                #expect(answer.status == status)
                #expect(!answer.text.contains("S3CR3T"))
                #expect(try await send(bench, "update_publish", "S3CR3T-key").status == 204, "it is on air")
                #expect(try await send(bench, "publish_done", "S3CR3T-key").status == 204)
                #expect(try await count("unmatched", bench) == "3")
                #expect(bench.log.text.contains("does not fit {room}__{user}"))
            }
        }
    }

    @Test func aURLThatMayNotBePulledRefusesThePublisher() async throws {
        try await withHooks(["hooks.nginx-rtmp.url": ["rtmp://media.example/{name}"]]) { (bench: Bench) async throws in
            let answer = try await send(bench, "publish", "lobby__S3CR3T")
            #expect(answer.status == 403 && answer.text.contains("sources.allow"), "\(answer.text)")
            #expect(!answer.text.contains("S3CR3T"))
            #expect(try await send(bench, "update_publish", "lobby__S3CR3T").status == 204)
            #expect(try await users(bench) == -1)
        }
    }

    @Test func aQuotaRefusesThePublisher() async throws {
        try await withHooks(["quotas.rooms": ["1"]]) { (bench: Bench) async throws in
            #expect(try await send(bench, "publish", "lobby__alice").status == 204)
            let answer = try await send(bench, "publish", "other__bob", client: 8)
            #expect(answer.status == 403 && answer.text.contains("quota"), "\(answer.text)")
            #expect(answer.headers[.contentType]?.hasPrefix("text/plain") == true)
            #expect(try await send(bench, "publish_done", "other__bob", client: 8).status == 204)
            #expect(try await users(bench, "other") == -1)
        }
    }

    @Test func calloutsThatNoServerSendsAreProblems() async throws {
        try await withHooks { (bench: Bench) async throws in
            let uri = "/v1/hooks/nginx-rtmp?token=\(Self.secret)"
            #expect(try await bench.call(.post, uri, "").status == 422)
            #expect(try await bench.call(.post, uri, "call=publish").value("field") == "name")
            let long = try await bench.call(.post, uri, String(repeating: "a", count: HookRequest.longestBody + 1))
            #expect(long.status == 413)
            #expect(try await bench.call(.put, uri, "call=publish").status == 405)
            #expect(try await count("malformed", bench) == "3")
        }
    }

    // MARK: Faults of the service

    @Test func faultsOfTheStoreLetPublishersGoOnUnlessToldOtherwise() async throws {
        for (isClosed, status) in [("false", 204), ("true", 503)] {
            let store = BreakableStore()
            try await withHooks(["hooks.failClosed": [isClosed]], store: store) { (bench: Bench) async throws in
                #expect(try await send(bench, "publish", "lobby__bob", client: 6).status == 204)
                store.breaks(true)
                let answer = try await send(bench, "publish", "lobby__alice")
                #expect(answer.status == status, "\(answer.text)")
                #expect((answer.headers[.retryAfter] != nil) == (status == 503))
                #expect(try await send(bench, "update_publish", "lobby__alice").status == 204)
                #expect(try await send(bench, "publish_done", "lobby__bob", client: 6).status == 503)
                store.breaks(false)
                // The next report restores the lost change.
                #expect(try await send(bench, "update_publish", "lobby__alice").status == 204)
                #expect(try await send(bench, "done", "lobby__bob", client: 6).status == 204)
                #expect(try await users(bench) == 1)
                #expect(try await count("failed", bench) == "3")
            }
        }
    }

    @Test func theSecretIsInNoLineOfTheLog() async throws {
        try await withHooks { (bench: Bench) async throws in
            _ = try await send(bench, "publish", "lobby__alice", path: "/v1/hooks/nginx-rtmp/\(Self.secret)")
            _ = try await bench.call(.put, "/v1/hooks/nginx-rtmp/\(Self.secret)", "")
            _ = try await bench.call(.post, "/v1/hooks/nginx-rtmp/\(Self.secret)/more", "")
            _ = try await bench.call(.post, "/v1/hooks//\(Self.secret)", "")
            #expect(bench.log.text.contains("/v1/hooks/{hook}/{token}"), "requests are logged")
        }
    }
}
