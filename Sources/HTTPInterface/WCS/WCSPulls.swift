import EventSubscription
import Foundation
import MixModel
import RoomService

/// Pulls of Web Call Server's interface: streams that the service pulls by events, listed from the rooms.
struct WCSPulls: Sendable {
    let registry: RoomRegistry
    let parser: EventParser
    let names: WCSServer.Names

    func start(_ call: WCSCall) async throws {
        let uri = try call.required("uri", "the URL to pull, as rtmp://host/app/stream")
        let name = try call.required("localStreamName", "a name of a stream, as user#room")
        let found: StreamNames
        switch names(name, call.app) {
        case .success(let names): found = names
        case .failure(let reason):
            throw InputError(.invalidField, field: "localStreamName", expected: "a name in a room: \(reason.text)")
        }
        let document = JSONValue.object([
            "type": .string("stream.published"), "user": .string(found.user.rawValue),
            "stream": .string(found.stream.rawValue), "url": .string(uri),
        ])
        let event = try parser.shortForm(document, room: found.room, id: UUID.quick().uuidString)
        _ = try await registry.owner(found.room).take(event, at: call.receivedAt)
    }

    func list(_ call: WCSCall) async throws -> [JSONValue] {
        try await Self.all(of: call.app, registry) { _, _ in true }.map { names, stream in
            .object([
                "localMediaSessionId": .string(WCSStreams.id(of: names)),
                "localStreamName": .string(WCSStreamName.text(names)), "uri": .string(StreamURL.redacted(stream.url)),
                "status": .string("PROCESSED_REMOTE"), "hasAudio": .boolean(stream.audio),
                "hasVideo": .boolean(stream.video), "record": .boolean(false),
            ])
        }
    }

    /// Removes all streams of the URI from their rooms.
    func stop(_ call: WCSCall) async throws {
        let uri = try call.required("uri", "the URL of a pull")
        let found = try await Self.all(of: call.app, registry) { $1.url.hasSameUTF8(as: uri) }
        guard !found.isEmpty else {
            throw OrchestratorError.notFound(
                "pull", StreamURL.redacted(uri), cure: "pulls are listed by /rest-api/pull/find_all")
        }
        try await Self.remove(found.map(\.names), registry, at: call.receivedAt)
    }

    /// Removes pulled streams from their rooms.
    static func remove(_ streams: [StreamNames], _ registry: RoomRegistry, at receivedAt: Int64) async throws {
        for names in streams {
            let event = RoomEvent(
                room: names.room, app: names.room.app.rawValue, source: "/rest-api/pull", id: UUID.quick().uuidString,
                time: wallClock(), kind: .streamUnpublished(user: names.user, stream: names.stream, reason: nil))
            _ = try await registry.owner(names.room).take(event, at: receivedAt)
        }
    }

    /// Returns the wanted pulls of an app. Publishers of the service's own ingest are not pulls.
    static func all(
        of app: AppID, _ registry: RoomRegistry, where isWanted: (StreamNames, LiveStream) -> Bool
    ) async throws(OrchestratorError) -> [(names: StreamNames, stream: LiveStream)] {
        try await WCSStreams.all(of: app, registry) { isWanted($0, $1) && IngestStreamURL($1.url) == nil }
    }
}
