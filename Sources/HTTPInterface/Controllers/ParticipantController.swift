import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// `/v1/rooms/{room}/participants/{user}`: an operator's settings for one user, who may be absent.
package struct ParticipantController: Sendable {
    let registry: RoomRegistry

    package init(registry: RoomRegistry) { self.registry = registry }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/rooms/{room}/participants/{user}", use: get)
        router.patch("v1/rooms/{room}/participants/{user}", use: patch)
    }

    private struct View: Encodable {
        var user: UserID
        var muted: Bool
        var gain: Int
        var hidden: Bool
        /// Whether the user is in the room.
        var present: Bool
        /// Notes about surprising effects. Absent if there are none.
        var notes: [String]?
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(try context.roomID(), UserID(try context.identifier("user")))
    }

    /// Changes the given fields (RFC 7396): omitted ones stay, and null restores the default.
    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        let user = UserID(try context.identifier("user"))
        try request.checkPatchType()
        let change = try Self.change(try FieldReader(try await request.json()))
        guard let owner = try await registry.reader(room) else { throw OrchestratorError.noRoom(room) }
        try await owner.control(user, change, at: receivedAt)
        return try await answer(room, user)
    }

    private static func change(_ fields: FieldReader) throws(InputError) -> ParticipantControlChange {
        var reader = fields
        var change = ParticipantControlChange()
        if reader.has("muted") { change.muted = try reader.boolean("muted") ?? false }
        if reader.has("gain") {
            change.gain = try reader.integer("gain", in: ParticipantControl.gains) ?? ParticipantControl.usualGain
        }
        if reader.has("hidden") { change.hidden = try reader.boolean("hidden") ?? false }
        try reader.finish()
        return change
    }

    private func answer(_ id: RoomID, _ user: UserID) async throws -> Response {
        guard let state = try await registry.snapshot(id), state.isStored else {
            throw OrchestratorError.noRoom(id)
        }
        let room = state.room.document
        let control = room.control(of: user)
        let isPresent = room.participant(user) != nil
        var notes: [String] = []
        if !isPresent { notes.append("\(user) is not in the room: this applies once they join") }
        if control.hidden { notes.append("\(user) is hidden: neither seen nor heard, and not pulled") }
        if control.level > 0, control.gain != ParticipantControl.usualGain {
            notes.append("a gain needs a mix: while \(user) is alone on air, they are mixed instead of copied")
        }
        return jsonResponse(
            View(
                user: user, muted: control.muted, gain: control.gain, hidden: control.hidden, present: isPresent,
                notes: notes.isEmpty ? nil : notes))
    }
}
