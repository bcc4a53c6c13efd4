import MixModel
import TestSupport

/// A room's history: the events, the order in which a service receives them, and the correct state at the end.
///
/// The correct state is derived from rules that are as simple as possible, and only from the events in their true
/// order: it knows neither marks nor sequences.
struct RoomHistory {
    struct Stream: Hashable {
        var url: String
        var audio: Bool
        var video: Bool
    }
    struct Person: Hashable {
        var hasJoined = false
        var streams: [StreamKind: Stream] = [:]
    }

    let room: RoomID
    /// The events in the order in which the service receives them.
    private(set) var deliveries: [RoomEvent] = []
    /// The participants at the end.
    private(set) var people: [UserID: Person] = [:]
    private(set) var isOpen = true
    /// The host, named by the room's settings or by the role in the host's events.
    let host: UserID?
    let hostIsNamed: Bool
    /// Whether events are lost. A snapshot at the end repairs the state.
    let isLossy: Bool

    static let source = "app"

    init(room: RoomID, _ random: inout SeededGenerator) {
        self.room = room
        let users = (0..<Int.random(in: 1...4, using: &random)).map { UserID("u\($0)") }
        host = Bool.random(using: &random) ? users.randomElement(using: &random) : nil
        hostIsNamed = Bool.random(using: &random)
        isLossy = Bool.random(using: &random)
        var happened: [RoomEvent] = []
        for number in 1...Int.random(in: 1...16, using: &random) {
            let kind = Self.kind(users, host: hostIsNamed ? nil : host, isLossy, number, &random)
            happen(kind)
            happened.append(event(number, kind))
        }
        tell(happened, &random)
    }

    /// The room's settings, with an idle time that no history reaches.
    var settings: RoomSettings {
        RoomSettings(host: hostIsNamed ? host : nil, policy: RoomPolicy(maxIdleSeconds: 86_400))
    }

    /// The destinations of the room's program.
    var outputs: [PushDestination] { [PushDestination(id: "main", url: "rtmp://127.0.0.1/out/\(room)")] }

    private func event(_ number: Int, _ kind: RoomEvent.Kind) -> RoomEvent {
        RoomEvent(
            room: room, source: Self.source, id: "\(room) \(number)", sequence: UInt64(number), time: Double(number),
            kind: kind)
    }

    private static func kind(
        _ users: [UserID], host: UserID?, _ isLossy: Bool, _ number: Int, _ random: inout SeededGenerator
    ) -> RoomEvent.Kind {
        let user = users.randomElement(using: &random) ?? "u0"
        let stream: StreamKind = [.camera, .camera, .screen, .audio].randomElement(using: &random) ?? .camera
        let role: Role? = user == host ? .host : nil
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<9:
            let url = "rtmp://127.0.0.1/live/\(number)"
            return .streamPublished(
                Publication(
                    user: user, stream: stream, url: url, audio: Bool.random(using: &random),
                    video: Int.random(in: 0..<4, using: &random) > 0, role: role))
        case 9..<14:
            return .streamUnpublished(user: user, stream: stream, reason: nil)
        case 14, 15:
            return .participantJoined(user: user, role: role, name: nil)
        case 16, 17:
            return .participantLeft(user: user)
        case 18:
            // A change of a stream does not contain enough to replace a publication that arrives later.
            guard isLossy else { return .roomOpened }
            return .streamUpdated(StreamUpdate(user: user, stream: stream, audio: Bool.random(using: &random)))
        default:
            return Int.random(in: 0..<3, using: &random) == 0 ? .roomClosed : .roomOpened
        }
    }

    private mutating func happen(_ kind: RoomEvent.Kind) {
        isOpen = true
        switch kind {
        case .streamPublished(let publication):
            people[publication.user, default: Person()].streams[publication.stream] = Stream(
                url: publication.url, audio: publication.audio,
                video: publication.video && publication.stream != .audio)
        case .streamUpdated(let update):
            if let audio = update.audio { people[update.user]?.streams[update.stream]?.audio = audio }
        case .streamUnpublished(let user, let stream, _):
            people[user]?.streams[stream] = nil
        case .participantJoined(let user, _, _):
            people[user, default: Person()].hasJoined = true
        case .participantLeft(let user):
            people[user] = nil
        case .roomClosed:
            people = [:]
            isOpen = false
        case .roomOpened, .roomSnapshot:
            break
        }
        people = people.filter { $0.value.hasJoined || !$0.value.streams.isEmpty }
    }

    /// Delivers events: twice, out of order, or not at all.
    private mutating func tell(_ happened: [RoomEvent], _ random: inout SeededGenerator) {
        var told = happened
        if isLossy { told.removeAll { _ in Int.random(in: 0..<4, using: &random) == 0 } }
        told += told.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
        if Bool.random(using: &random) {
            told.shuffle(using: &random)
        } else {
            for index in told.indices.dropLast() where Int.random(in: 0..<3, using: &random) == 0 {
                told.swapAt(index, index + 1)
            }
        }
        if isLossy {
            // Old events may arrive after the snapshot.
            let late = told.isEmpty ? 0 : Int.random(in: 0...min(3, told.count), using: &random)
            told.insert(event(happened.count + 1, .roomSnapshot(snapshot)), at: told.count - late)
            isOpen = true
        }
        deliveries = told
    }

    private var snapshot: RoomSnapshot {
        let sorted = people.sorted { $0.key < $1.key }
        return RoomSnapshot(
            streams: sorted.flatMap { user, person in
                person.streams.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, stream in
                    RoomSnapshot.Stream(
                        Publication(
                            user: user, stream: kind, url: stream.url, audio: stream.audio, video: stream.video,
                            role: role(of: user)))
                }
            },
            participants: sorted.filter(\.value.hasJoined).map { .init(user: $0.key, role: role(of: $0.key)) })
    }

    private func role(of user: UserID) -> Role? { user == host && !hostIsNamed ? .host : nil }

    // MARK: Verdict

    /// Returns the faults in the state that the service reached; empty if there are none.
    ///
    /// - Parameter outputs: The expected destinations of the room's program.
    func faults(_ room: Room, _ plan: ProgramPlan?, outputs: [PushDestination]) -> [String] {
        var faults: [String] = []
        func expect(_ what: String, _ found: some Equatable, _ expected: some Equatable) {
            if "\(found)" != "\(expected)" { faults.append("\(what): found \(found), expected \(expected)") }
        }
        expect("open", room.isOpen, isOpen)
        let found = Dictionary(
            uniqueKeysWithValues: room.participants.map { person in
                (
                    person.user,
                    Person(
                        hasJoined: person.joinedExplicitly,
                        streams: Dictionary(
                            uniqueKeysWithValues: person.streams.map {
                                ($0.kind, Stream(url: $0.url, audio: $0.audio, video: $0.video))
                            }))
                )
            })
        if found != people { faults.append("people: found \(found), expected \(people)") }
        let orders = room.participants.map(\.joinOrder)
        expect("join order", orders, Set(orders).sorted())

        let streams = people.flatMap { user, person in
            person.streams.map { kind, stream in (id: SourceID(user: user, stream: kind), user: user, stream: stream) }
        }
        guard !streams.isEmpty else {
            if let plan { expect("mode", plan.mode, ProgramPlan.Mode.slate) }
            return faults
        }
        guard let plan else { return faults + ["no plan for \(streams.map(\.id))"] }
        expect(
            "sources", plan.sources.sorted { $0.id < $1.id },
            streams.sorted { $0.id < $1.id }.map {
                PlannedSource(id: $0.id, url: $0.stream.url, audio: $0.stream.audio, video: $0.stream.video)
            })
        expect("outputs", plan.outputs.destinations, outputs)
        let isThere = streams.contains { $0.user == host }
        switch plan.mode {
        case .slate:
            faults.append("slate although somebody publishes")
        case .bypass(let source):
            expect("bypass of", [source], streams.map(\.id))
            expect("bypass of a picture", streams[0].stream.video, true)
        case .mix(let source):
            if streams.count == 1, streams[0].stream.video { faults.append("a mix of one picture") }
            // The canvas follows the picture, or without pictures the sound, of one participant: of the host, if there
            // is one.
            let pictures = streams.filter(\.stream.video)
            let candidates = pictures.isEmpty ? streams : pictures
            if !candidates.contains(where: { $0.id == source }) { faults.append("a mix that follows \(source)") }
            if isThere, candidates.contains(where: { $0.user == host }) {
                expect("host", source.user, host ?? "")
            }
        }
        return faults
    }
}
