import EventSubscription
import Foundation
import MixModel
import RoomService

/// The actions of channels, which report and change the participants known from events.
package struct WireChannels: Sendable {
    let registry: RoomRegistry

    package init(registry: RoomRegistry) {
        self.registry = registry
    }

    func users(_ call: WireCall) async throws -> [String: JSONValue] {
        let room = try await registry.snapshot(try call.room())?.room.document
        let people = room?.participants ?? []
        // Participants with a stream or a role count as streaming. All others watch.
        let streamers = people.filter { !$0.streams.isEmpty || $0.role != nil }
        let viewers = people.filter { $0.streams.isEmpty && $0.role == nil }
        return [
            "IsChannelExists": .boolean(room?.isOpen == true && !people.isEmpty),
            "InteractiveUserList": Self.names(streamers), "InteractiveUserNumber": .number(Double(streamers.count)),
            "LiveUserList": Self.names(viewers), "LiveUserNumber": .number(Double(viewers.count)),
            "Timestamp": Self.timestamp,
        ]
    }

    func participants(_ call: WireCall) async throws -> [String: JSONValue] {
        let number = try call.parameters.integer("PageNum", in: 1...Self.mostPages) ?? 1
        let size = try call.parameters.integer("PageSize", in: 1...Self.largestPage) ?? 10
        let order = call.parameters["Order"] ?? "desc"
        guard ["asc", "desc"].contains(order) else { throw CallError.invalid("Order", order, "asc or desc") }
        let joined = try await registry.snapshot(try call.room())?.room.document.participants ?? []
        let people = order == "asc" ? joined : joined.reversed()
        let page = people.dropFirst((number - 1) * size).prefix(size)
        return [
            "UserList": Self.names(page), "TotalNum": .number(Double(people.count)),
            "TotalPage": .number(Double((people.count + size - 1) / size)), "Times": Self.timestamp,
        ]
    }

    /// Lists the channels that have participants.
    func rooms(_ call: WireCall) async throws -> [String: JSONValue] {
        let number = try call.parameters.integer("PageNo", in: 1...Self.mostPages) ?? 1
        let size = try call.parameters.integer("PageSize", in: 1...Self.largestPage) ?? 50
        var names: [String] = []
        var after: String?
        repeat {
            let page = try await registry.rooms(of: call.app, page: RequestPage(limit: 1000, after: after)) { room in
                !room.participants.isEmpty
            }
            names += page.views.map(\.id)
            after = page.next
        } while after != nil
        let shown = names.dropFirst((number - 1) * size).prefix(size)
        return ["Rooms": .array(shown.map { .string($0) }), "Total": .number(Double(names.count))]
    }

    /// Closes the channel, with the same effect as a `roomClosed` event.
    func delete(_ call: WireCall) async throws -> [String: JSONValue] {
        let room = try call.room()
        guard let owner = try await registry.existingOwner(room), await !owner.snapshot.room.document.isBlank else {
            throw Self.unknown(room)
        }
        _ = try await owner.receive(Self.event(room, .roomClosed), at: call.receivedAt)
        return [:]
    }

    func removeTerminals(_ call: WireCall) async throws -> [String: JSONValue] {
        let room = try call.room()
        let users = try call.parameters.list("TerminalIds", atMost: Self.mostTerminals)
        guard !users.isEmpty else { throw CallError.missing("TerminalIds.1", "the user to remove") }
        guard let owner = try await registry.existingOwner(room) else { throw Self.unknown(room) }
        var outcomes: [JSONValue] = []
        for user in users {
            let isThere = await owner.snapshot.room.document.participant(UserID(user)) != nil
            if isThere {
                _ = try await owner.receive(
                    Self.event(room, .participantLeft(user: UserID(user))), at: call.receivedAt)
            }
            outcomes.append(
                .object([
                    "Id": .string(user), "Code": .number(isThere ? 0 : 1),
                    "Message": .string(isThere ? "Success" : "Failed: the user is not in the channel"),
                ]))
        }
        return ["Terminals": .array(outcomes)]
    }

    // MARK: Parts

    private static let mostPages = 1_000_000
    private static let largestPage = 1000
    private static let mostTerminals = 100

    private static var timestamp: JSONValue { .number(wallClock().rounded(.down)) }

    private static func names(_ people: some Sequence<Participant>) -> JSONValue {
        .array(people.map { .string($0.user.rawValue) })
    }

    private static func event(_ room: RoomID, _ kind: RoomEvent.Kind) -> RoomEvent {
        RoomEvent(
            room: room, app: room.app.rawValue, source: "apsaravideo", id: UUID.quick().uuidString, time: wallClock(),
            kind: kind)
    }

    private static func unknown(_ room: RoomID) -> CallError {
        .invalid("ChannelId", room.name, "a channel with at least one user")
    }
}
