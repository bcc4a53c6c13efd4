import LayoutEngine
import MixModel

/// Parsing of `room.snapshot`, which lists everything that is published in a room.
extension EventParser {
    /// Reads the body of `PUT /v1/rooms/{room}/streams`.
    ///
    /// - Parameter id: The request's `Idempotency-Key`, or a new identifier.
    public func snapshot(_ document: JSONValue, room: RoomID, id: String) throws(InputError) -> RoomEvent {
        var reader = try FieldReader(document)
        let sequence = try Self.sequence(&reader)
        let time = try Self.time(&reader)
        let snapshot = try snapshot(&reader, room: room)
        try reader.finish()
        return RoomEvent(
            room: room, app: room.app.rawValue, source: "/v1/rooms/\(room.name)/streams", id: id, sequence: sequence,
            time: time, kind: .roomSnapshot(snapshot))
    }

    /// Reads `streams` and `participants` from the object that contains them.
    func snapshot(_ data: inout FieldReader, room: RoomID) throws(InputError) -> RoomSnapshot {
        let elements = try list("streams", &data, atMost: RoomSnapshot.mostStreams)
        guard let elements else {
            throw InputError(
                .missingField, field: data.path(of: "streams"),
                expected: "every stream that is published now, or [] if there are none")
        }
        var snapshot = RoomSnapshot(streams: [])
        var known: Set<SourceID> = []
        for (element, path) in elements {
            let stream = try stream(element, path, room)
            guard known.insert(stream.id).inserted else {
                throw InputError(
                    .invalidField, field: path, found: "\"\(stream.id)\" twice",
                    expected: "at most one stream of each kind per user")
            }
            snapshot.streams.append(stream)
        }
        if let people = try list("participants", &data, atMost: RoomSnapshot.mostParticipants) {
            snapshot.participants = try Self.people(people)
        }
        return snapshot
    }

    private func list(
        _ key: String, _ data: inout FieldReader, atMost most: Int
    ) throws(InputError) -> [(JSONValue, path: String)]? {
        guard let elements = try data.array(key) else { return nil }
        guard elements.count <= most else {
            throw InputError(
                .invalidField, field: data.path(of: key), found: "\(elements.count) elements",
                expected: "at most \(most) elements")
        }
        return elements
    }

    private func stream(
        _ element: JSONValue, _ path: String, _ room: RoomID
    ) throws(InputError) -> RoomSnapshot.Stream {
        var reader = try FieldReader(element, path: path)
        let publication = try publication(&reader, room: room)
        let name = try Self.freeText("name", &reader)
        try reader.finish()
        return RoomSnapshot.Stream(publication, name: name)
    }

    private static func people(
        _ elements: [(JSONValue, path: String)]
    ) throws(InputError) -> [RoomSnapshot.Person] {
        var people: [RoomSnapshot.Person] = []
        var known: Set<UserID> = []
        for (element, path) in elements {
            var reader = try FieldReader(element, path: path)
            let person = RoomSnapshot.Person(
                user: try user(&reader), role: try reader.choice("role", of: Role.self),
                name: try freeText("name", &reader))
            try reader.finish()
            guard known.insert(person.user).inserted else {
                throw InputError(
                    .invalidField, field: path, found: "\"\(person.user)\" twice", expected: "each user once")
            }
            people.append(person)
        }
        return people
    }
}
