import Crypto
import EventSubscription
import Foundation
import MixModel
import RoomService
import TextFormats

/// Streams of Web Call Server's interface: all that are in the app's rooms, regardless of their publishers.
struct WCSStreams: Sendable {
    let registry: RoomRegistry
    let server: WCSServer

    /// Maximum number of streams in an answer.
    static let most = 1000
    /// Largest message for players, in bytes.
    static let longestPayload = 64 << 10

    /// - Parameter filter: Whether the call's fields select the streams.
    func list(_ call: WCSCall, filter: Bool) async throws -> [JSONValue] {
        let clients = Dictionary(server.publishers(of: call.app).map { ($0.names, $0) }) { $1 }
        func isWanted(_ entry: [String: JSONValue]) -> Bool {
            ["mediaSessionId", "name"].allSatisfy { key in call.fields[key].map { $0 == entry[key] } ?? true }
                && call.fields.flag("published") != false
        }
        let found = try await Self.all(of: call.app, registry) { names, stream in
            !filter || isWanted(entry(names, audio: stream.audio, video: stream.video, clients[names]))
        }
        var entries = found.map { names, stream in
            entry(names, audio: stream.audio, video: stream.video, clients[names])
        }
        let listed = Set(found.map(\.names))
        // Clients whose media have not arrived yet.
        for client in clients.values where !listed.contains(client.names) {
            let entry = entry(client.names, audio: client.hasAudio, video: client.hasVideo, client)
            if !filter || isWanted(entry) { entries.append(entry) }
        }
        return entries.map { .object($0) }
    }

    func stop(_ call: WCSCall) async throws {
        var ids: Set<String> = []
        if let id = call.fields.text("mediaSessionId") { ids.insert(id) }
        if case .array(let elements)? = call.fields["mediaSessionIds"] {
            for case .string(let id) in elements { ids.insert(id) }
        }
        let name = call.fields.text("name")
        guard !ids.isEmpty || name != nil else {
            throw InputError(.missingField, field: "mediaSessionId", expected: "the stream's identifier, or its name")
        }
        func isChosen(_ id: String, _ names: StreamNames) -> Bool {
            ids.contains(id) || name?.hasSameUTF8(as: WCSStreamName.text(names)) == true
        }
        let chosen = server.publishers(of: call.app).filter { isChosen($0.id, $0.names) }
        let pulled = try await WCSPulls.all(of: call.app, registry) { names, _ in isChosen(Self.id(of: names), names) }
        guard !chosen.isEmpty || !pulled.isEmpty else {
            throw OrchestratorError.notFound(
                "stream", (name ?? ids.sorted().joined(separator: ", ")).shortened(toBytes: 100),
                cure: "only streams of WCS clients and pulls can be ended here; end others where they are published")
        }
        for publisher in chosen { await server.terminate(publisher) }
        try await WCSPulls.remove(pulled.map(\.names), registry, at: call.receivedAt)
    }

    /// Returns the stream with this identifier in lists; `nil` if there is none.
    func stream(_ id: String, of app: AppID) async throws(OrchestratorError) -> StreamNames? {
        if let client = server.publishers(of: app).first(where: { $0.id.hasSameUTF8(as: id) }) { return client.names }
        return try await Self.all(of: app, registry) { names, _ in Self.id(of: names).hasSameUTF8(as: id) }.first?.names
    }

    /// Sends data to all players of a stream.
    func tell(_ call: WCSCall) async throws {
        let name = try call.required("streamName", "the name of a stream, as in stream/find_all")
        guard let target = server.target(name, app: call.app), case .participant = target, await server.isThere(target)
        else {
            throw OrchestratorError.notFound(
                "stream", name.shortened(toBytes: 100), cure: "streams are listed by /rest-api/stream/find_all")
        }
        let payload = call.fields["payload"]
        guard payload.map({ JSONText.of($0).utf8.count <= Self.longestPayload }) ?? true else {
            throw InputError(
                .invalidField, field: "payload", expected: "at most \(Self.longestPayload) bytes of JSON")
        }
        server.tell(target, "data", payload)
    }

    private func entry(
        _ names: StreamNames, audio: Bool, video: Bool, _ client: WCSServer.Publisher?
    ) -> [String: JSONValue] {
        var entry: [String: JSONValue] = [
            "mediaSessionId": .string(client?.id ?? Self.id(of: names)), "name": .string(WCSStreamName.text(names)),
            "published": .boolean(true), "status": .string(client?.status ?? "PUBLISHING"), "hasAudio": .boolean(true),
            "hasVideo": .boolean(names.stream != .audio), "mediaType": .string("publish"),
            "audioState": .object(["muted": .boolean(!audio)]), "videoState": .object(["muted": .boolean(!video)]),
        ]
        if let client {
            entry["mediaProvider"] = .string("WebRTC")
            entry["createDate"] = .number((client.begun * 1000).rounded())
        }
        return entry
    }

    /// Returns an identifier for a stream that no WCS client publishes: the same for the same name.
    static func id(of names: StreamNames) -> String {
        let text = [names.room.app.rawValue, names.room.name, names.user.rawValue, names.stream.rawValue]
        return Hexadecimal.text(SHA256.hash(data: Data(text.joined(separator: "/").utf8)).prefix(16))
    }

    /// Returns the wanted streams of an app, at most `most`.
    static func all(
        of app: AppID, _ registry: RoomRegistry, where isWanted: (StreamNames, LiveStream) -> Bool
    ) async throws(OrchestratorError) -> [(names: StreamNames, stream: LiveStream)] {
        var found: [(names: StreamNames, stream: LiveStream)] = []
        try await registry.forEachRoom { room in
            guard room.id.app == app, found.count < most else { return }
            for participant in room.participants {
                for stream in participant.streams where found.count < most {
                    let names = StreamNames(room: room.id, user: participant.user, stream: stream.kind)
                    if isWanted(names, stream) { found.append((names, stream)) }
                }
            }
        }
        return found
    }
}
