import EventSubscription
import Foundation
import HTTPInterface
import MixModel
import RoomService
import Synchronization
import TestSupport
import Testing

/// A service with Web Call Server's interface, and scripted workers of WebRTC.
struct WCSStage: Sendable {
    /// The supervisors of WebRTC workers, with the answers and actions that a test sets.
    final class Door: WebRTCDoor, WebRTCPlayDoor {
        struct Opened: Sendable {
            let target: WebRTCPlayTarget
            let client: WebRTCClient
            let change: @Sendable (WebRTCNews) -> Void
        }
        private let state = Mutex((opened: [String: Opened](), closed: [String](), count: 0))

        var opened: [String: Opened] { state.withLock { $0.opened } }
        var closed: [String] { state.withLock { $0.closed } }

        func open(
            _ names: StreamNames, offer: String, from client: WebRTCClient,
            onChange: @escaping @Sendable (WebRTCNews) -> Void
        ) async throws(OrchestratorError) -> WebRTCDoorSession {
            try open("session", Opened(target: .participant(names), client: client, change: onChange), offer)
        }

        func play(
            _ target: WebRTCPlayTarget, offer: String, from client: WebRTCClient,
            onChange: @escaping @Sendable (WebRTCNews) -> Void
        ) async throws(OrchestratorError) -> WebRTCDoorSession {
            try open("view", Opened(target: target, client: client, change: onChange), offer)
        }

        private func open(
            _ kind: String, _ opened: Opened, _ offer: String
        ) throws(OrchestratorError) -> WebRTCDoorSession {
            switch offer {
            case _ where offer.hasPrefix("v=0"): break
            case "busy":
                throw OrchestratorError(.unavailable, "webrtc-full", "There are too many", detail: "", retryAfter: 10)
            default:
                throw OrchestratorError(.unacceptable, "offer-unsuitable", "No supported media", detail: "no H.264")
            }
            let id = state.withLock { state in
                state.count += 1
                let id = "\(kind)-\(state.count)"
                state.opened[id] = opened
                return id
            }
            return WebRTCDoorSession(id: id, answer: "v=0 answer of \(id)")
        }

        func close(_ session: String, of app: AppID) { state.withLock { $0.closed.append(session) } }
        func stopPlaying(_ session: String, of app: AppID) { state.withLock { $0.closed.append(session) } }
    }

    let service: LiveService
    let door: Door

    static func run(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (WCSStage) async throws -> Void
    ) async throws {
        let door = Door()
        try await withDirectory { directory in
            try await withLiveService(
                directory: directory, settings: ["wcs.enabled": ["true"]].merging(settings) { $1 }, door: door,
                playDoor: door
            ) { service in
                try await body(WCSStage(service: service, door: door))
            }
        }
    }

    func connect(token: String? = nil, more: String = "", headers: [String: String] = [:]) async throws -> WCSTestClient
    {
        let socket = try await WebSocketClient.open(port: service.port, headers: headers)
        let client = WCSTestClient(socket: socket)
        await client.send(
            "connection", #"{"appKey":"defaultApp","authToken":"\#(token ?? "x")","mediaProviders":["WebRTC"]\#(more)}"#
        )
        return client
    }

    /// Connects a client that the service admits.
    func enter() async throws -> WCSTestClient {
        let client = try await connect()
        #expect(try await client.next().name == "getUserData")
        return client
    }

    /// Returns the body and the status of a call.
    func rest(_ path: String, _ body: String) async throws -> String {
        try await outputOfShell(
            "curl -sS -m 60 -X POST -w '%{http_code}' http://127.0.0.1:\(service.port)\(path) -d '\(body)' 2>&1")
    }

    /// Returns the fields of a message about a stream.
    static func stream(_ id: String, _ name: String, _ more: String = "") -> String {
        #"{"mediaSessionId":"\#(id)","name":"\#(name)","hasVideo":true,"hasAudio":true\#(more)}"#
    }

    static let offer = #","sdp":"v=0","mediaProvider":"WebRTC""#
}

/// A client of Web Call Server's protocol.
struct WCSTestClient: Sendable {
    struct Message: @unchecked Sendable {
        let name: String
        let data: [Any]

        func text(_ key: String) -> String? { (data.first as? [String: Any])?[key] as? String }
    }

    let socket: WebSocketClient

    func send(_ name: String, _ data: String) async {
        await socket.send(text: #"{"message":"\#(name)","data":[\#(data)]}"#)
    }

    func nextWithPings() async throws -> Message {
        let text = try #require(await socket.text())
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return Message(
            name: try #require(object["message"] as? String), data: try #require(object["data"] as? [Any]))
    }

    func next() async throws -> Message {
        while true {
            let message = try await nextWithPings()
            if message.name != "ping" { return message }
        }
    }

    /// Returns the identifier, status and info of the next status.
    func status() async throws -> [String] {
        let message = try await next()
        #expect(message.name == "notifyStreamStatusEvent")
        return ["mediaSessionId", "status", "info"].compactMap { message.text($0) }
    }
}
