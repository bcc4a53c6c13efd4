import EventSubscription
import Foundation
import MixModel
import RoomService

/// Pictures of streams for Web Call Server's interface.
struct WCSSnapshots: Sendable {
    let registry: RoomRegistry
    let server: WCSServer
    /// `nil` if the service makes no previews.
    let previews: Previews?

    /// Returns the picture of a participant's stream or of a room's program, as JPEG in base 64. Web Call Server sends
    /// PNG, which browsers tell apart by themselves.
    func make(_ call: WCSCall) async throws -> [String: JSONValue] {
        let name = try call.required("streamName", "the name of a stream, as in stream/find_all, or of a room")
        guard let previews else {
            throw OrchestratorError(
                .notFound, "previews-off", "This service makes no previews",
                detail: "thumbnails.interval is 0 in its configuration")
        }
        guard let target = server.target(name, app: call.app), let state = try await registry.snapshot(target.room)
        else { throw Self.unknown(name) }
        let picture: Previews.Picture
        switch target {
        case .program(let room):
            guard let task = state.tasksToWatch.first.flatMap({ state.task($0) }) else {
                throw OrchestratorError.notOnAir(room)
            }
            picture = try await previews.program(of: task)
        case .participant(let names):
            guard let streams = state.room.document.participant(names.user)?.streams,
                streams.contains(where: { $0.kind == names.stream })
            else { throw Self.unknown(name) }
            picture = try await previews.stream(names, in: state)
        }
        return ["data": .string(Data(picture.jpeg).base64EncodedString())]
    }

    private static func unknown(_ name: String) -> OrchestratorError {
        .notFound("stream", name.shortened(toBytes: 100), cure: "streams are listed by /rest-api/stream/find_all")
    }
}
