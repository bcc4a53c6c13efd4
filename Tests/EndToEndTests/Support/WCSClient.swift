import Foundation
import Synchronization
import TestSupport

/// A client of Web Call Server's signalling, written from the documented protocol. It answers the server's pings.
final class WCSClient: Sendable {
    /// A message from the server, as far as tests need it.
    private struct Message: Sendable {
        let name: String
        /// The elements of `data` that are texts.
        let texts: [String]
        /// The texts in the first element of `data`.
        let fields: [String: String]

        init?(_ text: String) {
            guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
                let name = object["message"] as? String, let data = object["data"] as? [Any]
            else { return nil }
            self.name = name
            texts = data.compactMap { $0 as? String }
            fields = (data.first as? [String: Any] ?? [:]).compactMapValues { $0 as? String }
        }
    }

    private struct Outgoing<Body: Encodable>: Encodable {
        let message: String
        let data: [Body?]
    }

    private struct Stream: Encodable {
        let mediaSessionId: String
        let name: String
        let published: Bool
        var hasVideo = true
        var hasAudio = true
        var status = "PENDING"
        var mediaProvider = "WebRTC"
        var sdp: String?
    }

    private final class Shared: Sendable { let messages = Mutex<[Message]>([]) }

    private let socket: WebSocketClient
    private let shared = Shared()

    private init(_ socket: WebSocketClient) { self.socket = socket }

    /// Returns a client that the service has admitted.
    static func connect(to service: ServiceClient) async throws -> WCSClient {
        let client = WCSClient(try await WebSocketClient.open(port: service.port))
        Task { await client.read() }
        await client.send("connection", ["appKey": "defaultApp", "clientVersion": "2.0"])
        try await waitUntil("the client is admitted") { client.contains { $0.name == "getUserData" } }
        return client
    }

    private func read() async {
        while let text = await socket.text() {
            guard let message = Message(text) else { continue }
            if message.name == "ping" {
                await send("pong", String?.none)
            } else {
                shared.messages.withLock { $0.append(message) }
            }
        }
    }

    private func send(_ name: String, _ body: (some Encodable)?) async {
        guard let bytes = try? JSONEncoder().encode(Outgoing(message: name, data: [body])) else { return }
        await socket.send(text: String(decoding: bytes, as: UTF8.self))
    }

    private func contains(_ isWanted: (Message) -> Bool) -> Bool {
        shared.messages.withLock { $0.contains(where: isWanted) }
    }

    /// Publishes or plays a stream.
    ///
    /// - Returns: The answer to the offer.
    func begin(_ id: String, _ name: String, publishes: Bool, offer: String) async throws -> String {
        await ask(id, name, publishes, offer)
        var answer: String?
        try await waitUntil("\(name) is answered") {
            try failure(of: id)
            answer = shared.messages.withLock { messages in
                messages.first { $0.name == "setRemoteSDP" && $0.texts.first == id }?.texts.last
            }
            return answer != nil
        }
        return answer ?? ""
    }

    /// Tries to publish or to play a stream that the service refuses.
    ///
    /// - Returns: The service's reason.
    func refusal(_ id: String, _ name: String, publishes: Bool, offer: String) async throws -> String {
        await ask(id, name, publishes, offer)
        return try await wait(for: "FAILED", of: id)
    }

    private func ask(_ id: String, _ name: String, _ publishes: Bool, _ offer: String) async {
        await send(
            publishes ? "publishStream" : "playStream",
            Stream(mediaSessionId: id, name: name, published: publishes, sdp: offer))
    }

    /// Ends a stream that the client publishes.
    func unpublish(_ id: String, _ name: String) async {
        await send("unPublishStream", Stream(mediaSessionId: id, name: name, published: true))
    }

    /// Returns when the stream has this status.
    ///
    /// - Returns: The explanation in the status; empty without one.
    @discardableResult func wait(for status: String, of id: String) async throws -> String {
        var info: String?
        try await waitUntil("\(id) is \(status)") {
            if status != "FAILED" { try failure(of: id) }
            info = self.info(of: id, status)
            return info != nil
        }
        return info ?? ""
    }

    private func info(of id: String, _ status: String) -> String? {
        shared.messages.withLock { messages in
            messages.first { message in
                message.name == "notifyStreamStatusEvent" && message.fields["mediaSessionId"] == id
                    && message.fields["status"] == status
            }.map { $0.fields["info"] ?? "" }
        }
    }

    private func failure(of id: String) throws {
        if let info = info(of: id, "FAILED") { throw EndToEndError("\(id) has failed: \(info)") }
    }

    func disconnect() async { await socket.disconnect() }
}
