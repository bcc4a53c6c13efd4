import HTTPTypes
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Tokens, scopes and apps on a whole service.
@Suite(.timeLimit(.minutes(5))) struct AccessTests {
    static let token = [
        "all": "all-scopes-0123456789abcdef", "events": "events-0123456789abcdef", "tasks": "tasks-0123456789abcdef",
        "layouts": "layouts-0123456789abcdef", "read": "read-0123456789abcdef", "other": "other-app-0123456789abcdef",
        "priority": "priority-0123456789abcdef", "publish": "publish-0123456789abcdef",
        "chat": "chat-0123456789abcdef",
    ]
    static func apps() -> [String: [String]] {
        var settings = ["apps.0.id": ["default"], "apps.1.id": ["shop"]]
        for (index, name) in ["all", "events", "tasks", "layouts", "read", "priority", "publish", "chat"].enumerated() {
            settings["apps.0.tokens.\(index).token"] = [token[name] ?? ""]
            settings["apps.0.tokens.\(index).scopes"] =
                name == "all" ? Scope.allCases.map(\.rawValue) : [name]
        }
        settings["apps.1.tokens.0.token"] = [token["other"] ?? ""]
        settings["apps.1.tokens.0.scopes"] = Scope.allCases.map(\.rawValue)
        return settings
    }
    static func bearer(_ name: String) -> HTTPFields {
        [.authorization: "Bearer \(token[name] ?? name)", .contentType: "application/json"]
    }
    private func withTokens(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: Self.apps().merging(settings) { $1 }, body)
        }
    }

    /// A priority above the normal one needs a right, because it takes from other tasks.
    @Test func highPrioritiesNeedARight() async throws {
        try await withTokens { bench in
            let high = #"{"policy":{"priority":6}}"#
            let refused = try await bench.call(.put, "/v1/rooms/demo", high, headers: Self.bearer("tasks"))
            #expect(refused.status == 403, "\(refused.text)")
            #expect(try refused.value("type") == "urn:mixorchestrator:problem:scope-missing")
            #expect(try refused.value("field") == "policy.priority")
            #expect(try refused.value("expected")?.contains("the scope priority") == true)
            let normal = #"{"policy":{"priority":5}}"#
            #expect(try await bench.call(.put, "/v1/rooms/demo", normal, headers: Self.bearer("tasks")).status == 201)
            #expect(try await bench.call(.put, "/v1/rooms/demo", high, headers: Self.bearer("all")).status == 200)

            let outputs = #""outputs":[{"id":"a","url":"rtmp://127.0.0.1/a"}]"#
            let task = #"{"id":"t","room":"demo",\#(outputs),"policy":{"priority":9}}"#
            #expect(try await bench.call(.post, "/v1/tasks", task, headers: Self.bearer("tasks")).status == 403)
            #expect(try await bench.call(.post, "/v1/tasks", task, headers: Self.bearer("all")).status == 201)
            // A task keeps a high priority that it has, but gets no higher one.
            var patch = Self.bearer("tasks")
            patch[.contentType] = "application/merge-patch+json"
            patch[.ifMatch] = "*"
            for (priority, status) in [(9, 200), (7, 200), (8, 403), (3, 200), (6, 403)] {
                let body = #"{"policy":{"priority":\#(priority)}}"#
                let answer = try await bench.call(.patch, "/v1/tasks/t", body, headers: patch)
                #expect(answer.status == status, "\(priority): \(answer.text)")
            }
        }
    }

    @Test func openRoutesNeedNoToken() async throws {
        try await withTokens { bench in
            for (uri, status) in [
                ("/healthz", 200), ("/readyz", 200), ("/openapi.yaml", 200), ("/live/demo.flv", 404),
                ("/live/shop/demo.flv", 404), ("/watch/demo", 200), ("/embed/demo", 200), ("/assets/watch.js", 200),
            ] {
                let answer = try await bench.call(.get, uri)
                #expect(answer.status == status, "\(uri)")
            }
        }
    }

    @Test(
        arguments: [
            nil, "Bearer", "Bearer ", "Basic YTpi", "Bearer wrong-0123456789abcdef",
            "Bearer all-scopes-0123456789abcde",
            "Bearer all-scopes-0123456789abcdefg", "all-scopes-0123456789abcdef",
        ] as [String?])
    func withoutAGoodTokenNothingIsServed(_ header: String?) async throws {
        try await withTokens { bench in
            var headers: HTTPFields = [:]
            headers[.authorization] = header
            for (method, uri) in [
                (HTTPRequest.Method.get, "/v1/rooms"), (.get, "/metrics"), (.post, "/v1/events"),
                (.delete, "/v1/rooms/a"),
                (.get, "/v1/nothing"), (.put, "/v1/layouts/x"),
            ] {
                let answer = try await bench.call(method, uri, method == .get ? nil : "{}", headers: headers)
                #expect(answer.status == 401, "\(uri)")
                #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:unauthorized")
                #expect(!answer.text.contains("0123456789abcde"))
            }
        }
    }

    @Test func aTokenOpensItsScopesAndNoOther() async throws {
        let examples: [(Scope, HTTPRequest.Method, String, String?)] = [
            (.events, .post, "/v1/rooms/demo/events", #"{"type":"room.opened"}"#),
            (.tasks, .put, "/v1/rooms/demo", "{}"), (.tasks, .delete, "/v1/tasks/none", nil),
            (.tasks, .patch, "/v1/rooms/demo", "{}"), (.tasks, .patch, "/v1/rooms/demo/params", "{}"),
            (.tasks, .post, "/v1/rooms/demo/outputs", "{}"), (.tasks, .delete, "/v1/rooms/demo/outputs/a", nil),
            (.read, .get, "/v1/rooms/demo/params", nil),
            (.tasks, .patch, "/v1/rooms/demo/participants/bob", "{}"),
            (.read, .get, "/v1/rooms/demo/participants/bob", nil),
            (.read, .get, "/v1/tasks/none/thumbnail.jpg", nil), (.read, .get, "/v1/tasks/none/participants/a.jpg", nil),
            (.read, .get, "/v1/tasks/none/levels", nil),
            (.layouts, .post, "/v1/layouts/none/rollback", "{}"), (.read, .get, "/v1/rooms", nil),
            (.read, .get, "/metrics", nil), (.read, .post, "/v1/layouts/auto/plan?participants=2", nil),
        ]
        try await withTokens { bench in
            for (needed, method, uri, body) in examples {
                for scope in Scope.allCases {
                    let answer = try await bench.call(method, uri, body, headers: Self.bearer(scope.rawValue))
                    if scope == needed {
                        #expect(answer.status != 403 && answer.status != 401, "\(method) \(uri): \(answer.text)")
                    } else {
                        #expect(answer.status == 403, "\(method) \(uri) with \(scope)")
                        #expect(try answer.value("detail")?.contains("scope \(needed.rawValue)") == true)
                    }
                }
            }
            #expect(try await bench.call(.get, "/v1/nothing", headers: Self.bearer("read")).status == 404)
        }
    }

    /// A route that is missing from the table is closed.
    @Test func aRouteOfWhichNothingIsSaidIsClosed() {
        #expect(RouteAccess.of(.get, "/v1/secret") == nil)
        #expect(RouteAccess.of(.head, "/v1/rooms") == .scope(.read))
        #expect(RouteAccess.of(.get, "/healthz") == .open)
    }

    @Test func anAppSeesAndChangesItsOwnRoomsOnly() async throws {
        try await withTokens { bench in
            let publish = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/a"}"#
            for app in ["all", "other"] {
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", publish, headers: Self.bearer(app))
                #expect(answer.status == 202, "\(answer.text)")
            }
            let extra = #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/{app}/{room}"}]}"#
            #expect(try await bench.call(.put, "/v1/rooms/mine", extra, headers: Self.bearer("all")).status == 201)
            try await eventually { bench.relays.started.count == 2 ? true : nil }
            #expect(Set(bench.relays.started.map(\.task)) == ["auto-demo", "shop/auto-demo"])

            for (app, rooms) in [("all", ["demo", "mine"]), ("other", ["demo"])] {
                let list = try await bench.call(.get, "/v1/rooms", headers: Self.bearer(app))
                for (index, room) in rooms.enumerated() { #expect(try list.value("rooms.\(index).id") == room) }
                #expect(try list.value("rooms.\(rooms.count)") == nil)
                let tasks = try await bench.call(.get, "/v1/tasks", headers: Self.bearer(app))
                #expect(try tasks.value("tasks.0.id") == "auto-demo")
                #expect(try tasks.value("tasks.0.room") == "demo")
                #expect(try tasks.value("tasks.1") == nil)
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline", headers: Self.bearer(app))
                #expect(try timeline.value("task") == "auto-demo")
            }
            let layout = try await bench.call(.get, "/v1/layouts/auto", headers: Self.bearer("other"))
            #expect(try layout.value("rooms.0") == "demo")
            #expect(try layout.value("rooms.1") == nil)

            // No spelling of the other app's name opens its rooms.
            for (uri, status) in [
                ("/v1/rooms/mine", 404), ("/v1/rooms/default%2Fmine", 422), ("/v1/rooms/mine?app=default", 403),
                ("/v1/rooms/demo?app=default", 403), ("/v1/rooms/mine?app=shop", 404),
                ("/v1/rooms/mine?app=shop&app=default", 422),
            ] {
                let answer = try await bench.call(.get, uri, headers: Self.bearer("other"))
                #expect(answer.status == status, "\(uri): \(answer.text)")
                #expect(try await bench.call(.delete, uri, headers: Self.bearer("other")).status == status)
            }
            #expect(try await bench.call(.get, "/v1/rooms/shop%2Fdemo", headers: Self.bearer("all")).status == 422)
            #expect(try await bench.call(.delete, "/v1/rooms/demo", headers: Self.bearer("other")).status == 204)
            #expect(try await bench.call(.get, "/v1/rooms/demo", headers: Self.bearer("all")).status == 200)
            #expect(try await bench.call(.get, "/v1/rooms/demo", headers: Self.bearer("other")).status == 404)
        }
    }

    @Test func anEventOfAnotherAppIsRefused() async throws {
        try await withTokens { bench in
            func event(_ app: String?) -> String {
                let attribute = app.map { #""app":"\#($0)","# } ?? ""
                return #"{"specversion":"1.0","id":"\#(app ?? "none")","source":"s",\#(attribute)"#
                    + #""type":"room.opened","subject":"lobby"}"#
            }
            for (app, status) in [("default", 403), ("shop", 202), (nil, 202)] as [(String?, Int)] {
                let answer = try await bench.call(.post, "/v1/events", event(app), headers: Self.bearer("other"))
                #expect(answer.status == status, "\(answer.text)")
                if status == 403 {
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:app-forbidden")
                    #expect(try answer.value("field") == "app")
                }
            }
            #expect(try await bench.call(.get, "/v1/rooms/lobby", headers: Self.bearer("all")).status == 404)
            #expect(try await bench.call(.get, "/v1/rooms/lobby", headers: Self.bearer("other")).status == 200)
        }
    }

    @Test func withoutTokensTheQueryNamesTheApp() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: ["apps.0.id": ["shop"]]
            ) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/r?app=shop", "{}").status == 201)
                #expect(try await bench.call(.get, "/v1/rooms/r").status == 404)
                #expect(try await bench.call(.get, "/v1/rooms?app=shop").value("rooms.0.id") == "r")
                let answer = try await bench.call(.get, "/v1/rooms?app=shoop")
                #expect(answer.status == 422)
                #expect(try answer.value("expected")?.contains("\"shop\"") == true)
            }
        }
    }

    @Test func requestsAndEventsAreLimitedByToken() async throws {
        try await withDirectory { directory in
            var settings = Self.apps()
            settings["http.rate.requests"] = ["5"]
            settings["http.rate.events"] = ["2"]
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: settings
            ) { bench in
                let batch = HTTPFieldsOf("Content-Type", "application/cloudevents-batch+json")
                var headers = Self.bearer("events")
                headers[.contentType] = batch[.contentType]
                func events(_ count: Int) -> String {
                    let one = #"{"specversion":"1.0","id":"1","source":"s","type":"room.opened","subject":"r"}"#
                    return "[" + Array(repeating: one, count: count).joined(separator: ",") + "]"
                }
                // A request larger than a whole burst leaves a debt, here of 49 seconds.
                #expect(try await bench.call(.post, "/v1/events", events(100), headers: headers).status == 202)
                let answer = try await bench.call(.post, "/v1/events", events(1), headers: headers)
                #expect(answer.status == 429)
                #expect(1...50 ~= Int(answer.headers[.retryAfter] ?? "") ?? 0)
                #expect(try answer.value("detail")?.contains("http.rate.events") == true)

                func read() async throws -> Int {
                    try await bench.call(.get, "/v1/rooms", headers: Self.bearer("read")).status
                }
                #expect(try await read() == 200)
                try await eventually("requests are not limited") { try await read() == 429 ? true : nil }
                // Other callers are not limited.
                #expect(try await bench.call(.get, "/v1/rooms", headers: Self.bearer("other")).status == 200)
            }
        }
    }

    @Test func guessingTokensIsSlow() async throws {
        try await withTokens(["http.rate.failures": ["1"]]) { bench in
            var statuses: Set<Int> = []
            for number in 0..<60 {
                statuses.insert(
                    try await bench.call(.get, "/v1/rooms", headers: Self.bearer("guess-number-\(number)")).status)
            }
            #expect(statuses == [401, 429])
            #expect(try await bench.call(.get, "/v1/rooms", headers: Self.bearer("read")).status == 200)
        }
    }

    /// The interfaces that check tokens themselves are slow for wrong ones only: behind a proxy, all have one address.
    @Test func guessesOfOthersRefuseNoValidToken() async throws {
        try await withTokens(["http.rate.failures": ["1"]]) { bench in
            let wrong = Self.bearer("guess-0123456789abcdef")
            try await eventually {
                try await bench.call(.post, "/whip/lobby/alice", "v=0", headers: wrong).status == 429 ? true : nil
            }
            // The token is valid; the content type and the room are not.
            let publish = try await bench.call(.post, "/whip/lobby/alice", "v=0", headers: Self.bearer("publish"))
            #expect(publish.status == 415, "\(publish.text)")
            let chat = try await bench.call(.get, "/v1/rooms/none/messages", headers: Self.bearer("chat"))
            #expect(chat.status == 404, "\(chat.text)")
        }
    }
}
