import HTTPTypes
import Hummingbird

/// A permission of a token. No scope includes another: a token lists every scope that its holder needs.
package enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Reporting what happens in rooms.
    case events
    /// Changing rooms, tasks and subscriptions.
    case tasks
    /// Changing layouts and nodes, which all apps share.
    case layouts
    /// Reading everything.
    case read
    /// Giving rooms and tasks a priority above the normal one, in addition to `tasks`.
    case priority
    /// Publishing to the service itself, over RTMP and over WebRTC.
    case publish
    /// Following rooms' channels and writing to them.
    case chat

    static let all = Set(allCases)
}

/// The kind of authentication that a route requires.
package enum RouteAccess: Hashable, Sendable {
    case open
    case scope(Scope)
    /// Each request is signed, or carries a token signed by its caller. The route itself authenticates the caller and has its
    /// own format for refusals.
    case signed
    /// Each request contains the secret of a media server's hook, which the route itself checks. Tokens do not count.
    case hook
    /// The route itself checks a token, or a signature (`WebRTCAccess`).
    case webrtc
    /// The route itself checks a token or a signature, and the rights of anonymous callers (`ChannelAccess`).
    case channel

    /// The route itself checks the credentials of a Socket.IO client (`SocketIOAccess`).
    case socketIO

    /// The access of every registered route. With tokens configured, a route that is missing here is closed to all.
    static let table: [String: RouteAccess] = {
        var table: [String: RouteAccess] = [:]
        func add(_ access: RouteAccess, _ routes: String...) {
            for route in routes { table[route] = access }
        }
        add(.signed, "GET /", "POST /")
        add(
            .signed, "GET /v2/{family}", "GET /v2/{family}/{id}", "GET /v2/{family}/{id}/{action}",
            "POST /v2/{family}/{id}/{action}", "POST /v2/{family}/room/{id}/{action}")
        add(
            .hook, "GET /v1/hooks/{hook}", "POST /v1/hooks/{hook}", "GET /v1/hooks/{hook}/{token}",
            "POST /v1/hooks/{hook}/{token}")
        for path in ["/whip/{app}/{room}", "/whip/{app}/{room}/{user}"] {
            add(.webrtc, "POST \(path)", "OPTIONS \(path)", "POST \(path)/screen", "OPTIONS \(path)/screen")
        }
        add(
            .webrtc, "PATCH /whip-sessions/{session}", "DELETE /whip-sessions/{session}",
            "OPTIONS /whip-sessions/{session}")
        for path in [
            "/whep/{app}", "/whep/{app}/{room}", "/whep/{app}/{room}/screen", "/whep/{app}/{room}/{user}",
            "/whep/{app}/{room}/{user}/screen", "/live/{room}.whep", "/live/{app}/{room}.whep",
        ] {
            add(.webrtc, "POST \(path)", "OPTIONS \(path)")
        }
        add(
            .webrtc, "PATCH /whep-sessions/{session}", "DELETE /whep-sessions/{session}",
            "OPTIONS /whep-sessions/{session}")
        add(
            .channel, "GET /v1/rooms/{room}/messages", "POST /v1/rooms/{room}/messages",
            "OPTIONS /v1/rooms/{room}/messages", "GET /v1/rooms/{room}/channel",
            "OPTIONS /v1/rooms/{room}/channel")
        add(
            .scope(.tasks), "DELETE /v1/rooms/{room}/messages/{message}", "PUT /v1/rooms/{room}/muted/{user}",
            "DELETE /v1/rooms/{room}/muted/{user}", "GET /v1/rooms/{room}/rules", "PATCH /v1/rooms/{room}/rules")
        add(
            .socketIO, "GET /socket.io", "POST /socket.io", "PUT /socket.io", "OPTIONS /socket.io", "GET /rooms",
            "OPTIONS /rooms")
        // Health probes and viewers carry no tokens, and the API document contains no secret.
        add(.open, "GET /healthz", "GET /readyz", "GET /openapi.yaml")
        // Pages and the files that they load are the same for all users.
        add(
            .open, "GET /publish/{room}", "GET /watch/{room}", "GET /embed/{room}", "GET /console",
            "GET /assets/{file}", "OPTIONS /assets/{file}")
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
            .scope(.tasks), "PATCH /v1/rooms/{room}/participants/{user}", "PUT /v1/rooms/{room}",
            "PATCH /v1/rooms/{room}", "PATCH /v1/rooms/{room}/params", "POST /v1/rooms/{room}/outputs",
            "DELETE /v1/rooms/{room}/outputs/{output}", "DELETE /v1/rooms/{room}", "PUT /v1/rooms/{room}/hls",
            "DELETE /v1/rooms/{room}/hls", "POST /v1/tasks",
            "PATCH /v1/tasks/{task}", "PATCH /v1/tasks/{task}/params",
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
        // Calls of Web Call Server's interface, in which only the name of a call says what it does.
        add(.scope(.tasks), "POST /rest-api/{family}/{action}", "POST /rest-api/{family}/{action}/{detail}")
        add(.scope(.read), "GET /rest-api/{family}/{action}")
        add(
            .scope(.layouts), "POST /v1/node/drain", "DELETE /v1/node/drain", "DELETE /v1/nodes/{node}",
            "PUT /v1/layouts/{name}", "DELETE /v1/layouts/{name}",
            "POST /v1/layouts/{name}/rollback")
        add(
            .scope(.read), "GET /metrics", "GET /v1/rooms", "GET /v1/rooms/{room}", "GET /v1/rooms/{room}/feed",
            "GET /v1/rooms/{room}/params", "GET /v1/rooms/{room}/participants/{user}",
            "GET /v1/nodes", "GET /v1/tasks",
            "GET /v1/tasks/{task}", "GET /v1/tasks/{task}/params", "GET /v1/tasks/{task}/thumbnail.jpg",
            "GET /v1/tasks/{task}/participants/{user}.jpg", "GET /v1/tasks/{task}/levels",
            "GET /v1/tasks/{task}/timeline", "GET /v1/tasks/{task}/switches", "GET /v1/layouts",
            "GET /v1/layouts/{name}", "GET /v1/layouts/{name}/versions", "GET /v1/layouts/{name}/versions/{version}",
            "GET /v1/layouts/{name}/events", "POST /v1/layouts/{name}/plan", "GET /v1/subscriptions",
            "GET /v1/subscriptions/{subscription}", "GET /v1/subscriptions/{subscription}/deliveries",
            "GET /v1/subscriptions/{subscription}/deliveries/{message}")
        return table
    }()

    /// Returns the access of a route, or `nil` if the table does not list it. `HEAD` is treated as `GET`.
    ///
    /// - Parameter path: The registered path, with parameters in braces.
    static func of(_ method: HTTPRequest.Method, _ path: String) -> RouteAccess? {
        table[(method == .head ? "GET " : method.rawValue + " ") + path]
    }

    /// Returns the routes that are missing from the table.
    package static func unknownRoutes(of router: Router<some RequestContext>) -> [String] {
        router.routes.filter { of($0.method, $0.path.description) == nil }.map { "\($0.method.rawValue) \($0.path)" }
    }
}
