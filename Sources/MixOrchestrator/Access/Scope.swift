import HTTPTypes
import Hummingbird

/// What a token may be used for. None includes another: a token gets every scope that its holder needs.
enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Telling what happens in rooms.
    case events
    /// Changing rooms, tasks and subscriptions.
    case tasks
    /// Changing layouts, which all apps share.
    case layouts
    /// Everything that changes nothing.
    case read
    /// Beside `tasks`: giving rooms and tasks a priority above the normal one.
    case priority

    static let all = Set(allCases)
}

/// Who may use a route.
enum RouteAccess: Hashable, Sendable {
    case open
    case scope(Scope)
    /// Each request is signed: the route itself says whose it is, and refuses it in its own words.
    case signed

    /// Every route, as it is registered. What is not here is open to nobody as soon as there are tokens.
    static let table: [String: RouteAccess] = {
        var table: [String: RouteAccess] = [:]
        func add(_ access: RouteAccess, _ routes: String...) {
            for route in routes { table[route] = access }
        }
        add(.signed, "GET /", "POST /")
        // Probes do not carry tokens; the document holds no secret; viewers have no token.
        add(.open, "GET /healthz", "GET /readyz", "GET /openapi.yaml")
        add(
            .open, "GET /live/{room}.flv", "OPTIONS /live/{room}.flv", "GET /live/{app}/{room}.flv",
            "OPTIONS /live/{app}/{room}.flv")
        for path in ["/live/{app}", "/live/{app}/{room}"] {
            add(
                .open, "GET \(path)/index.m3u8", "OPTIONS \(path)/index.m3u8", "GET \(path)/hls/{session}/{file}",
                "OPTIONS \(path)/hls/{session}/{file}", "GET \(path)/vod/{session}.zip")
        }
        add(
            .scope(.events), "POST /v1/events", "POST /v1/rooms/{room}/events", "PUT /v1/rooms/{room}/streams")
        add(
            .scope(.tasks), "PUT /v1/rooms/{room}", "DELETE /v1/rooms/{room}", "PUT /v1/rooms/{room}/hls",
            "DELETE /v1/rooms/{room}/hls", "POST /v1/tasks",
            "PATCH /v1/tasks/{task}",
            "DELETE /v1/tasks/{task}", "POST /v1/tasks/{task}/outputs", "DELETE /v1/tasks/{task}/outputs/{output}")
        add(
            .scope(.tasks), "PUT /v1/rooms/{room}/recording", "DELETE /v1/rooms/{room}/recording",
            "DELETE /v1/rooms/{room}/recordings/{file}")
        add(
            .scope(.read), "GET /v1/rooms/{room}/recording", "GET /v1/rooms/{room}/recordings",
            "GET /v1/rooms/{room}/recordings/{file}")
        add(
            .scope(.tasks), "POST /v1/subscriptions", "PATCH /v1/subscriptions/{subscription}",
            "DELETE /v1/subscriptions/{subscription}", "POST /v1/subscriptions/{subscription}/secret",
            "POST /v1/subscriptions/{subscription}/test", "POST /v1/subscriptions/{subscription}/redeliver",
            "POST /v1/subscriptions/{subscription}/deliveries/{message}/redeliver")
        add(
            .scope(.layouts), "PUT /v1/layouts/{name}", "DELETE /v1/layouts/{name}",
            "POST /v1/layouts/{name}/rollback")
        add(
            .scope(.read), "GET /metrics", "GET /v1/rooms", "GET /v1/rooms/{room}", "GET /v1/rooms/{room}/feed",
            "GET /v1/tasks",
            "GET /v1/tasks/{task}", "GET /v1/tasks/{task}/timeline", "GET /v1/tasks/{task}/switches", "GET /v1/layouts",
            "GET /v1/layouts/{name}", "GET /v1/layouts/{name}/versions", "GET /v1/layouts/{name}/versions/{version}",
            "GET /v1/layouts/{name}/events", "POST /v1/layouts/{name}/plan", "GET /v1/subscriptions",
            "GET /v1/subscriptions/{subscription}", "GET /v1/subscriptions/{subscription}/deliveries",
            "GET /v1/subscriptions/{subscription}/deliveries/{message}")
        return table
    }()

    /// `nil` when nobody has said who may use it. `HEAD` is as `GET`.
    ///
    /// - Parameter path: As it was registered, with parameters in braces.
    static func of(_ method: HTTPRequest.Method, _ path: String) -> RouteAccess? {
        table[(method == .head ? "GET " : method.rawValue + " ") + path]
    }

    /// Routes that are missing in the table.
    static func unknownRoutes(of router: Router<some RequestContext>) -> [String] {
        router.routes.filter { of($0.method, $0.path.description) == nil }.map { "\($0.method.rawValue) \($0.path)" }
    }
}
