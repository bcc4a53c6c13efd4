import MixModel
import TestSupport
import Testing

/// Notifications to subscribers depend on a room's states alone, however the room came to them.
@Suite struct OccurrenceTests {
    private static func published(_ user: UserID, _ url: String = "rtmp://127.0.0.1/a", role: Role? = nil)
        -> RoomEvent.Kind
    {
        .streamPublished(Publication(user: user, url: url, role: role))
    }

    private func after(_ kinds: RoomEvent.Kind..., from room: Room = Room(id: "demo")) -> Room {
        var room = room
        for kind in kinds {
            _ = RoomMachine.apply(RoomEvent(room: "demo", source: "app", id: "x", kind: kind), to: &room)
        }
        return room
    }

    private func words(_ kinds: [Occurrence.Kind]) -> [String] {
        kinds.map { kind in
            let occurrence = Occurrence(room: "demo", at: 0, kind: kind)
            return occurrence.topic.rawValue + (occurrence.user.map { " \($0)" } ?? "")
        }
    }

    @Test func whoComesFirstOpensTheRoomAndWhoGoesLastClosesIt() {
        let empty = Room(id: "demo")
        let one = after(Self.published("alice"))
        #expect(
            words(one.occurrences(since: empty)) == [
                "room.opened", "participant.joined alice", "stream.published alice",
            ])
        let two = after(.participantJoined(user: "bob", role: .guest, name: "Bob"), from: one)
        #expect(words(two.occurrences(since: one)) == ["participant.joined bob"])
        let left = after(.participantLeft(user: "alice"), from: two)
        #expect(words(left.occurrences(since: two)) == ["stream.unpublished alice", "participant.left alice"])
        #expect(words(empty.occurrences(since: left)) == ["participant.left bob", "room.closed"])
        #expect(empty.occurrences(since: Room(id: "demo", settings: RoomSettings(host: "x"))).isEmpty)
    }

    @Test func mutesRolesAndNewURLsAreToldOnce() {
        let before = after(Self.published("alice", role: .guest))
        let muted = after(.streamUpdated(StreamUpdate(user: "alice", audio: false)), from: before)
        #expect(words(muted.occurrences(since: before)) == ["stream.updated alice"])
        guard case .streamUpdated(_, let stream) = muted.occurrences(since: before).first else {
            Issue.record("no update")
            return
        }
        #expect(stream.audio == false)
        #expect(stream.video == true)
        let host = after(.streamUpdated(StreamUpdate(user: "alice", role: .host)), from: muted)
        #expect(words(host.occurrences(since: muted)) == ["participant.roleChanged alice"])
        let again = after(Self.published("alice", "rtmp://127.0.0.1/b"), from: host)
        #expect(words(again.occurrences(since: host)) == ["stream.published alice"])
        #expect(again.occurrences(since: again).isEmpty)
    }

    /// The participants and their streams can be reconstructed from the notifications alone.
    @Test func whatIsToldGivesTheRoomAgain() {
        var random = SeededGenerator(announcedFor: "whatIsToldGivesTheRoomAgain")
        for _ in 0..<300 {
            var room = Room(id: "demo")
            var people: Set<UserID> = []
            var streams: Set<SourceID> = []
            var isOpen = false
            for _ in 0..<30 {
                let user = UserID("u\(Int.random(in: 0..<3, using: &random))")
                let stream = StreamKind.allCases.randomElement(using: &random) ?? .camera
                let kind: RoomEvent.Kind =
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0...2: .streamPublished(Publication(user: user, stream: stream, url: "rtmp://127.0.0.1/x"))
                    case 3, 4: .streamUnpublished(user: user, stream: stream, reason: nil)
                    case 5: .participantJoined(user: user, role: nil, name: nil)
                    case 6: .participantLeft(user: user)
                    default: .roomClosed
                    }
                let next = after(kind, from: room)
                for told in next.occurrences(since: room) {
                    switch told {
                    case .roomOpened:
                        #expect(!isOpen && people.isEmpty)
                        isOpen = true
                    case .roomClosed:
                        #expect(isOpen && people.isEmpty && streams.isEmpty)
                        isOpen = false
                    case .participantJoined(let person):
                        #expect(isOpen && !people.contains(person.user))
                        people.insert(person.user)
                    case .participantLeft(let person):
                        let wasThere = people.remove(person.user) != nil
                        #expect(wasThere)
                        #expect(!streams.contains { $0.user == person.user })
                    case .streamPublished(let person, let stream):
                        #expect(people.contains(person.user))
                        streams.insert(SourceID(user: person.user, stream: stream.kind))
                    case .streamUnpublished(let person, let stream):
                        let wasThere = streams.remove(SourceID(user: person.user, stream: stream.kind)) != nil
                        #expect(wasThere)
                    default: break
                    }
                }
                room = next
                #expect(people == Set(room.participants.map(\.user)))
                #expect(streams == Set(room.streams.map(\.id)))
                #expect(isOpen == !people.isEmpty)
            }
        }
    }

    @Test func aSubscriptionIsToldWhatItAskedFor() {
        let room = after(Self.published("alice"))
        let told = room.occurrences(since: Room(id: "demo")).map { Occurrence(room: "demo", at: 0, kind: $0) }
        func wanted(_ kind: Subscription.Kind = .own, _ change: (inout Subscription) -> Void) -> [String] {
            var subscription = Subscription(id: "s", app: .standard, kind: kind, url: "http://127.0.0.1", createdAt: 0)
            change(&subscription)
            return told.filter { subscription.wants($0) }.map(\.topic.rawValue)
        }
        let all = ["room.opened", "participant.joined", "stream.published"]
        #expect(wanted { _ in } == all)
        #expect(wanted(.roomEvents) { _ in } == all)
        #expect(wanted(.taskEvents) { _ in }.isEmpty)
        #expect(wanted { $0.topics = [.streamPublished, .taskSwitched] } == ["stream.published"])
        #expect(wanted(.roomEvents) { $0.topics = Topic.ofUsers } == ["participant.joined", "stream.published"])
        #expect(wanted { $0.rooms = ["demo"] } == all)
        #expect(wanted { $0.rooms = ["other"] }.isEmpty)
        #expect(wanted { $0.users = ["alice"] } == all)
        // The opening of a room has no user.
        #expect(wanted { $0.users = ["bob"] } == ["room.opened"])
        #expect(wanted { $0.isEnabled = false }.isEmpty)
        let foreign = Subscription(id: "s", app: "shop", kind: .own, url: "http://127.0.0.1", createdAt: 0)
        #expect(!told.contains { foreign.wants($0) })
    }
}

@Suite struct OutputWatchTests {
    private func status(_ state: DestinationStatus.State, reconnects: Int = 0, id: OutputID = "main")
        -> DestinationStatus
    {
        DestinationStatus(id: id, state: state, reconnects: reconnects, lastError: state == .live ? nil : "reset")
    }

    @Test func eachChangeIsToldOnce() {
        var watch = OutputWatch()
        func take(_ statuses: DestinationStatus...) -> [OutputChange.State] {
            watch.take(statuses, now: 0).map(\.state)
        }
        #expect(take(status(.connecting)) == [.connecting])
        #expect(take(status(.connecting)).isEmpty)
        #expect(take(status(.live)) == [.live])
        #expect(take(status(.live)).isEmpty)
        // The change was so quick that no status contained it.
        #expect(take(status(.live, reconnects: 1)) == [.recovering, .live])
        #expect(take(status(.live, reconnects: 1), status(.connecting, id: "other")) == [.connecting])
        #expect(watch.relayLost("killed", now: 0).map(\.output) == ["main", "other"])
        #expect(watch.relayLost("killed", now: 0) == [])
        #expect(take(status(.live), status(.failed, id: "other")) == [.live, .failed])
        #expect(take(status(.live)) == [.removed])
        #expect(watch.ended().map(\.state) == [.removed])
        #expect(watch.ended() == [])
    }

    @Test func aFlappingOutputIsToldOfNowAndThenAndItsLastStateAlways() {
        var watch = OutputWatch()
        var told = 0
        for second in 0..<60 {
            told += watch.take([status(second.isMultiple(of: 2) ? .live : .recovering)], now: Int64(second)).count
        }
        #expect(told == OutputWatch.mostChanges)
        let last = watch.take([status(.failed)], now: OutputWatch.window + 100)
        #expect(last.map(\.state) == [.failed])
        #expect(last.first?.error == "reset")
    }
}
