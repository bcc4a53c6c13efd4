import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// A request built from the examples of one operation.
struct OpenAPIRequest: Sendable {
    var name: String
    var uri: String
    var headers: HTTPFields
    var body: String?

    /// Returns a request for each example of the body, with and without the optional parameters.
    static func all(
        of operation: OpenAPIDocument.Operation, in document: OpenAPIDocument
    ) throws -> [OpenAPIRequest] {
        var bodies: [(name: String, type: String?, body: String?)] = []
        for (type, media) in (operation.body?["content"] as? [String: [String: Any]] ?? [:]).sorted(by: {
            $0.key < $1.key
        }) {
            for (name, value) in document.examples(of: media) {
                let isForm = type == "application/x-www-form-urlencoded"
                let isText = type == "application/sdp" || type == "application/trickle-ice-sdpfrag"
                let body =
                    isText
                    ? value as? String : isForm ? OpenAPIDocument.form(value) : try OpenAPIDocument.json(value)
                bodies.append(("\(type) \(name)", type, body))
            }
        }
        if operation.body?["required"] as? Bool != true { bodies.append(("no body", nil, nil)) }
        var requests: [OpenAPIRequest] = []
        for (name, type, body) in bodies {
            for isFull in [true, false] {
                var request = try OpenAPIRequest(operation, document, isFull: isFull)
                request.name = "\(name)\(isFull ? ", every parameter" : "")"
                if let type { request.headers[.contentType] = type }
                request.body = body
                if operation.id == "planLayout", body == nil, !isFull { continue }
                // The headers decide whether plain JSON is an event or an event's data.
                if operation.id == "postEvents", type == "application/json", name.hasSuffix("binary") != isFull {
                    continue
                }
                requests.append(request)
            }
        }
        return requests
    }

    private init(_ operation: OpenAPIDocument.Operation, _ document: OpenAPIDocument, isFull: Bool) throws {
        name = ""
        headers = [:]
        var path = operation.path
        var query: [String] = []
        for parameter in operation.parameters {
            guard isFull || parameter["required"] as? Bool == true, let key = parameter["name"] as? String,
                let example = document.examples(of: parameter).first?.value
            else { continue }
            switch parameter["in"] as? String {
            case "path": path = path.replacingOccurrences(of: "{\(key)}", with: "\(example)")
            case "query": query.append("\(key)=\(example)")
            default: headers[try #require(HTTPField.Name(key))] = "\(example)"
            }
        }
        uri = path + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// Returns the request with its credentials. Calls at `/` are signed now, as SDKs do, since a signature contains
    /// the time; calls below `/v2` get a signed token.
    func signed(for operation: OpenAPIDocument.Operation) throws -> OpenAPIRequest {
        if operation.path.hasPrefix("/v2/") {
            var request = self
            request.headers = HMSCaller.headers()
            return request
        }
        guard operation.path == "/" else { return self }
        var request = self
        let method = try #require(HTTPRequest.Method(operation.method))
        (request.uri, request.headers) = WireCaller.signed(
            "ListRTCLiveRooms", uri.contains("AppId") ? ["AppId": "shop"] : [:], method: method)
        return request
    }

    /// Returns the request for a real session. Names of WHIP and WHEP sessions are not known before the sessions start,
    /// and only publishers at the service itself can be played from there.
    func inSession(of bench: Bench, _ operation: OpenAPIDocument.Operation) async throws -> OpenAPIRequest {
        if operation.id.hasPrefix("playCamera") || operation.id.hasPrefix("playScreen") {
            try await bench.publishToIngest("alice", app: operation.id.hasSuffix("OfApp") ? "shop" : "default")
        }
        if operation.id == "deleteMessage" {
            // A message gets its number when it is sent.
            let app = uri.contains("app=shop") ? "shop" : "default"
            let sent = try await bench.call(.post, "/v1/rooms/demo/messages?app=\(app)", #"{"text":"x"}"#)
            var request = self
            request.uri = uri.replacing("1769860800000000", with: try #require(try sent.value("id")))
            return request
        }
        if operation.path == "/socket.io", uri.contains("sid=") || operation.id == "postSocketIO" {
            let opened = try await bench.call(.get, "/socket.io?EIO=4&transport=polling")
            let id = try #require(opened.text.split(separator: "\"").dropFirst(3).first)
            var request = self
            request.uri = "/socket.io?EIO=4&transport=polling&sid=\(id)"
            // Packets are not JSON.
            if operation.id == "postSocketIO" { request.body = "40" }
            // A `GET` blocks until a packet waits for it.
            if operation.id == "pollSocketIO" {
                #expect(try await bench.call(.post, request.uri, "40").status == 200)
            }
            return request
        }
        let sessions = ["/whip-sessions/{session}": "/whip/demo/carol", "/whep-sessions/{session}": "/whep/demo"]
        guard let path = sessions[operation.path] else { return self }
        let offer = ScriptedWHIPWorker.offer(direction: path.hasPrefix("/whip") ? "sendonly" : "recvonly")
        let made = try await bench.call(.post, path, offer, headers: [.contentType: "application/sdp"])
        #expect(made.status == 201, "\(made.text)")
        var request = self
        request.uri = try #require(made.headers[.location])
        // A fragment without the offer's ICE name would restart ICE; `*` matches any session and restarts nothing.
        request.body = body?.replacing("a=ice-ufrag:EsAw", with: "a=ice-ufrag:\(ScriptedWHIPWorker.iceName)")
        return request
    }

    /// Settings of the service that the examples are sent to.
    static let settings = [
        "apps.0.id": ["shop"], "apps.0.accessKeys.0.id": [WireCaller.key],
        "apps.0.accessKeys.0.secret": [WireCaller.secret],
        "hooks.nginx-rtmp.secret": ["hook-secret-0123456789"],
        "hooks.nginx-rtmp.url": ["rtmp://127.0.0.1:1935/{app}/{name}"],
        // Test requests may have no remote address.
        "hooks.nginx-rtmp.allow": ["*"],
        "wcs.enabled": ["true"], "hundredms.enabled": ["true"],
    ]

    /// Creates what the examples assume: the rooms `demo` of two apps, on air with alice in a layout with parameters,
    /// and the layout `mine` at its second version.
    static func prepare(_ bench: Bench) async throws {
        let publish = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#
        let board = """
            {"params": {"home": {"type": "text", "default": "Home"}, "shown": {"type": "visible", "default": true},
                        "homeScore": {"type": "number", "default": 0, "max": 99},
                        "awayScore": {"type": "number", "default": 0, "max": 99}},
             "arrangements": [{"algorithm": "grid"}]}
            """
        #expect(try await bench.call(.put, "/v1/layouts/board", board).status == 201)
        for app in ["default", "shop"] {
            let outputs = #"{"layout":"board","outputs":[{"id":"cdn","url":"rtmp://127.0.0.1:1935/cdn/\#(app)-demo"}]}"#
            #expect(try await bench.call(.put, "/v1/rooms/demo?app=\(app)", outputs).status == 201)
            #expect(try await bench.call(.post, "/v1/rooms/demo/events?app=\(app)", publish).status == 202)
            try await eventually {
                try await bench.call(.get, "/v1/tasks/auto-demo?app=\(app)").value("onAir") == "bypass" ? true : nil
            }
        }
        for algorithm in ["grid", "solo"] {
            let template = #"{"arrangements":[{"algorithm":"\#(algorithm)"}]}"#
            #expect(try await bench.call(.put, "/v1/layouts/mine", template).status < 300)
        }
        try await eventually { try await bench.call(.get, "/readyz").status == 200 ? true : nil }
    }

    /// Returns a store with the subscription `sub-example`, which has the dead letter `msg_example`.
    static func filledStore() async throws -> MemoryTaskStore { try await fill(MemoryTaskStore()) }

    /// Puts the subscription, the dead letter and the node of the examples into a store.
    static func fill<Store: TaskStore>(_ store: Store) async throws -> Store {
        let subscription = Subscription(
            id: "sub-example", app: .standard, kind: .own, url: "http://127.0.0.1:9/hooks", isEnabled: true,
            secrets: [.init(text: WebhookSignature.newSecret())], createdAt: 1_769_860_800)
        let message = OutboxMessage(
            id: "msg_example", subscription: subscription.id, lane: "demo", topic: .streamPublished,
            body: Array("{}".utf8))
        _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0), outbox: [message]))
        let taken = try await store.takeMessages(of: subscription.id, limit: 1, lease: .seconds(9))
        let attempt = DeliveryAttempt(
            number: 1, at: 1_769_860_800, code: 500, milliseconds: 3, error: "answered 500",
            url: "http://127.0.0.1:9/hooks")
        try await store.settle(try #require(taken.items.first), .givenUp, attempt: attempt)
        // The node that an example expels.
        let node = try await store.register("b", for: .seconds(3600))
        try await store.announce(node, NodeProfile(name: "b", url: "http://127.0.0.1:9", key: "k"))
        return store
    }

    /// Writes the files of a recorder and a packager for the rooms `demo`.
    static func fillDirectory(_ directory: String) throws {
        for app in ["default", "shop"] {
            try KeptFiles.makeSession(directory, app: app, name: "1795301525067", isEnded: true)
        }
        try KeptFiles.makeRecording(directory, "20260131T120000Z-1x2y3z")
        try fillStreams(directory)
    }

    /// Adds a running stream of 100ms' interface, and a finished one with a file.
    private static func fillStreams(_ directory: String) throws {
        let files = try HMSFiles(data: directory)
        for id in ["64c0a1b2c3d4e5f601234567", "64c0a1b2c3d4e5f601234568"] {
            var session = HMSSession(
                id: id, kind: .externalStream, room: RoomID(app: "shop", name: "demo"),
                session: "64c0a1b2c3d4e5f601234569", accessKey: WireCaller.key, base: "http://127.0.0.1:8080",
                at: Date().timeIntervalSince1970)
            session.isComplete = true
            session.status = .running
            if id.hasSuffix("8") {
                session.status = .completed
                session.holdsRoom = false
                session.assets = [
                    HMSAsset(
                        id: "64c0a1b2c3d4e5f60123456a", kind: .composite, file: "20260131T120000Z-1x2y3z.mp4",
                        size: 1000, duration: 10, createdAt: session.createdAt)
                ]
            }
            try files.write(session)
        }
    }

    /// Ends an operation that otherwise never stops answering: playing a program, or following a room.
    ///
    /// - Parameter operation: The operation's id.
    static func end(_ operation: String, of bench: Bench) async throws {
        let gauges = ["followRoom": "feed_listeners", "followMessages": "channel_viewers"]
        if let gauge = gauges[operation] {
            try await eventually {
                try await bench.call(.get, "/metrics").text.contains("\n\(gauge) 1\n") ? true : nil
            }
            #expect(try await bench.call(.delete, "/v1/rooms/demo?app=shop").status == 204)
            #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
            return
        }
        let programs: [String: TaskID] = ["watch": "auto-demo", "watchOfApp": "shop/auto-demo"]
        guard let task = programs[operation] else { return }
        let relay = try #require(bench.relays.running.first { $0.task == task })
        try await eventually { relay.viewerCount == 1 ? true : nil }
        let app = task.app == .standard ? "" : "?app=\(task.app)"
        #expect(try await bench.call(.delete, "/v1/tasks/\(task.name)\(app)").status == 200)
    }
}

enum RequestIDHeader {
    static let name = HTTPField.Name("X-Request-Id") ?? .cacheControl
}
