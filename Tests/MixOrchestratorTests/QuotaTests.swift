import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Quotas of an app, and the independence of other apps from its use of them.
@Suite(.timeLimit(.minutes(5))) struct QuotaTests {
    private func withQuotas(
        _ settings: [String: [String]], directory: String, store: (any TaskStore)? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        let base = ["apps.0.id": ["shop"], "apps.1.id": ["zoo"], "rooms.outputs": []]
        try await withOrchestrator(
            directory: directory, store: store, settings: base.merging(settings) { $1 }, body)
    }

    private func event(
        _ bench: Bench, _ type: String, _ user: String, _ room: String, _ app: String = "shop"
    ) async throws -> Answer {
        let url = type == "stream.published" ? #","url":"rtmp://127.0.0.1/live/\#(user)""# : ""
        return try await bench.call(
            .post, "/v1/rooms/\(room)/events?app=\(app)", #"{"type":"\#(type)","user":"\#(user)"\#(url)}"#)
    }

    private func expectRefused(_ answer: Answer, _ quota: String, _ limit: Int) throws {
        #expect(answer.status == 409, "\(answer.text)")
        #expect(try answer.value("type") == "urn:mixorchestrator:problem:quota-exceeded")
        #expect(try answer.value("quota") == quota)
        #expect(try answer.value("limit") == "\(limit)")
        #expect(try answer.value("detail")?.contains("quotas.\(quota)") == true)
    }

    @Test func roomsAreCountedOverRestartsAndThoseThereAreGoOn() async throws {
        try await withDirectory { directory in
            let settings = ["apps.0.quotas.rooms": ["3"]]
            try await withQuotas(settings, directory: directory) { bench in
                for number in 0..<3 {
                    #expect(try await event(bench, "participant.joined", "u", "r\(number)").status == 202)
                }
                try expectRefused(try await event(bench, "participant.joined", "u", "r3"), "rooms", 3)
                try expectRefused(try await bench.call(.put, "/v1/rooms/r3?app=shop", "{}"), "rooms", 3)
                #expect(try await bench.call(.get, "/v1/rooms/r3?app=shop").status == 404)
                #expect(try await event(bench, "stream.published", "u", "r0").status == 202)
                #expect(try await event(bench, "participant.joined", "u", "r3", "zoo").status == 202)
                #expect(try await event(bench, "participant.joined", "u", "r3", "default").status == 202)
                #expect(try await bench.call(.delete, "/v1/rooms/r1?app=shop").status == 204)
                #expect(try await event(bench, "participant.joined", "u", "r3").status == 202)
                #expect(try await bench.call(.get, "/metrics").text.contains("\nrooms 5\n"))
                await bench.store.close()
            }
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            try await withQuotas(settings, directory: directory, store: store) { bench in
                try expectRefused(try await event(bench, "participant.joined", "u", "r4"), "rooms", 3)
                #expect(try await event(bench, "participant.left", "u", "r3").status == 202)
                #expect(try await event(bench, "participant.joined", "v", "r4", "zoo").status == 202)
                await bench.store.close()
            }
        }
    }

    /// Former rooms make place for new ones; rooms with participants or explicit settings stay.
    @Test func emptyRoomsMakePlaceBeforeTheQuotaIsReached() async throws {
        var quotas = AppQuotas()
        quotas.standard[.rooms] = 20
        let services = try RoomServices(
            store: MemoryTaskStore(), sockets: RelaySockets(directory: "/tmp/mo-none/relays"),
            starter: ScriptedRelays(), layouts: Layouts(), metrics: Metrics(), logger: LogRecorder().logger,
            defaultOutputs: [], defaultLayout: "auto", defaultCanvas: RoomCanvas(.portrait),
            quotas: QuotaUsage(quotas: quotas))
        let registry = RoomRegistry(services: services, keepsRelays: true)
        try await registry.restore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await registry.run() }
            func tell(_ room: Int, _ kind: RoomEvent.Kind) async throws {
                let event = RoomEvent(room: RoomID("r\(room)"), source: "s", id: "\(UUID())", kind: kind)
                _ = try await registry.owner(event.room).receive(event, at: 0)
            }
            for room in 0..<18 {
                try await tell(room, .participantJoined(user: "u", role: nil, name: nil))
                if room != 3 { try await tell(room, .participantLeft(user: "u")) }
            }
            let layout = SettingsChange(summary: "test") { settings, _ in
                var settings = settings
                settings.layout = "auto"
                return settings
            }
            _ = try await registry.owner("r4").configure(layout, at: 0)
            await registry.forgetEmptyRooms()
            #expect(services.quotas.roomCount == 18, "nine tenths are not exceeded")
            try await tell(18, .participantJoined(user: "u", role: nil, name: nil))
            await registry.forgetEmptyRooms()
            #expect(services.quotas.roomCount == 16)
            let rooms = try await services.store.rooms().map(\.document.id)
            #expect(rooms.count == 16 && ["r3", "r4", "r18"].allSatisfy(rooms.contains))
            group.cancelAll()
        }
    }

    @Test func onlyRoomsBeyondNineTenthsOfAQuotaAreTooMany() {
        for (limit, rooms, surplus) in [
            (0, 0, nil), (1, 1, 1), (9, 1, nil), (9, 8, nil), (9, 9, 2), (19, 17, nil), (19, 18, 3), (20, 18, nil),
            (20, 19, 3), (1 << 50, 100_000, nil),
        ] as [(Int, Int, Int?)] {
            var quotas = AppQuotas()
            quotas.standard[.rooms] = limit
            let usage = QuotaUsage(quotas: quotas)
            usage.count(rooms: rooms, bytes: 0, of: .standard)
            #expect(usage.surplusRooms[.standard] == surplus, "\(rooms) of \(limit)")
        }
    }

    /// Failed and repeated writes do not count towards a quota.
    @Test func whatIsNotStoredIsNotCounted() async throws {
        try await withDirectory { directory in
            let settings = ["quotas.rooms": ["2"]]
            try await withQuotas(settings, directory: directory, store: MemoryTaskStore()) { bench in
                for room in ["a", "b", "c", "d"] {
                    // An app's event is identified by its source and id, so that it is a duplicate in other rooms too.
                    let body = """
                        {"specversion":"1.0","id":"one","source":"/test","type":"participant.joined",\
                        "subject":"\(room)","data":{"user":"u"}}
                        """
                    let answer = try await bench.call(
                        .post, "/v1/events", body, headers: [.contentType: "application/cloudevents+json"])
                    #expect(answer.status == 202, "\(room) \(answer.text)")
                    #expect(try answer.value("duplicate") == (room == "a" ? "0" : "1"))
                }
                #expect(try await event(bench, "participant.joined", "u", "e", "default").status == 202)
                try expectRefused(try await event(bench, "participant.joined", "u", "f", "default"), "rooms", 2)
            }
        }
    }

    @Test func tasksOnAirAndThoseAskedForAreCounted() async throws {
        try await withDirectory { directory in
            let settings = ["quotas.tasks": ["2"], "rooms.outputs": ["rtmp://127.0.0.1/out/{app}/{room}"]]
            try await withQuotas(settings, directory: directory) { bench in
                #expect(try await event(bench, "stream.published", "u", "r0").status == 202)
                func make(_ number: Int) async throws -> Answer {
                    let task =
                        #"{"id":"t\#(number)","room":"x","outputs":[{"id":"a","url":"rtmp://127.0.0.1/other/\#(number)"}]}"#
                    return try await bench.call(.post, "/v1/tasks?app=shop", task)
                }
                let made = try await make(1)
                #expect(made.status == 201, "\(made.text)")
                try expectRefused(try await make(2), "tasks", 2)
                let refused = try await event(bench, "stream.published", "u", "r1")
                try expectRefused(refused, "tasks", 2)
                #expect(try await bench.call(.get, "/v1/rooms/r1?app=shop").status == 404, "nothing is stored of it")
                // Existing rooms still accept other participants, and another app is not affected.
                #expect(try await event(bench, "stream.published", "v", "r0").status == 202)
                #expect(try await event(bench, "stream.published", "u", "r1", "zoo").status == 202)
                // The refused requests have left nothing behind.
                #expect(try await bench.call(.delete, "/v1/tasks/t1?app=shop").status == 200)
                #expect(try await event(bench, "stream.published", "u", "r1").status == 202)
                try expectRefused(try await make(3), "tasks", 2)
                // The task no longer counts when its relay has ended.
                #expect(try await bench.call(.delete, "/v1/rooms/r1?app=shop").status == 204)
                try await eventually { try await make(4).status == 201 ? true : nil }
            }
        }
    }

    @Test func participantsOfARoomAreBounded() async throws {
        try await withDirectory { directory in
            let settings = ["apps.0.quotas.participants": ["4"]]
            try await withQuotas(settings, directory: directory, store: MemoryTaskStore()) { bench in
                for number in 0..<4 {
                    #expect(try await event(bench, "participant.joined", "u\(number)", "r").status == 202)
                }
                try expectRefused(try await event(bench, "participant.joined", "u9", "r"), "participants", 4)
                try expectRefused(try await event(bench, "stream.published", "u9", "r"), "participants", 4)
                #expect(try await event(bench, "stream.published", "u1", "r").status == 202)
                #expect(try await event(bench, "participant.left", "u0", "r").status == 202)
                #expect(try await event(bench, "participant.joined", "u9", "r").status == 202)
                let streams = (0..<5).map { #"{"user":"s\#($0)","url":"rtmp://127.0.0.1/live/s\#($0)"}"# }
                let snapshot = #"{"streams":[\#(streams.joined(separator: ","))]}"#
                try expectRefused(
                    try await bench.call(.put, "/v1/rooms/r2/streams?app=shop", snapshot), "participants", 4)
                #expect(try await bench.call(.put, "/v1/rooms/r2/streams?app=zoo", snapshot).status == 202)
            }
        }
    }

    @Test func bytesOfRoomsAreBounded() async throws {
        try await withDirectory { directory in
            let settings = ["apps.0.quotas.storedBytes": ["3000"]]
            try await withQuotas(settings, directory: directory, store: MemoryTaskStore()) { bench in
                var stored = 0
                while stored < 50, try await event(bench, "stream.published", "u", "r\(stored)").status == 202 {
                    stored += 1
                }
                #expect((3...12).contains(stored), "\(stored)")
                try expectRefused(try await event(bench, "stream.published", "v", "r0"), "storedBytes", 3000)
                #expect(try await event(bench, "stream.unpublished", "u", "r0").status == 202)
                #expect(try await event(bench, "stream.published", "u", "r0", "zoo").status == 202)
                for number in 0..<stored {
                    #expect(try await bench.call(.delete, "/v1/rooms/r\(number)?app=shop").status == 204)
                }
                #expect(try await event(bench, "stream.published", "u", "again").status == 202)
            }
        }
    }

    @Test func subscriptionsAreBounded() async throws {
        try await withDirectory { directory in
            let settings = ["quotas.subscriptions": ["2"]]
            try await withQuotas(settings, directory: directory, store: MemoryTaskStore()) { bench in
                func make(_ app: String) async throws -> Answer {
                    try await bench.call(
                        .post, "/v1/subscriptions?app=\(app)", #"{"url":"http://127.0.0.1:9/hook"}"#)
                }
                for _ in 0..<2 { #expect(try await make("shop").status == 201) }
                try expectRefused(try await make("shop"), "subscriptions", 2)
                #expect(try await make("zoo").status == 201)
            }
        }
    }

    /// One app cannot use up all listeners, as it could at 0088c6d.
    @Test func anAppThatFollowsEverythingLeavesOthersTheirFeeds() throws {
        let feeds = RoomListeners()
        let numbers = NumberSource()
        var quotas = Quotas()
        quotas[.feeds] = 100
        var listeners: [RoomListener] = []
        for number in 0..<100 {
            listeners.append(try feeds.listen(to: RoomID("shop/r\(number)"), numbers: numbers, quotas: quotas))
        }
        let error = #expect(throws: OrchestratorError.self) {
            try feeds.listen(to: "shop/other", numbers: numbers, quotas: quotas)
        }
        #expect(error?.kind == .conflict && error?.quota == .init(name: .feeds, limit: 100))
        for number in 0..<100 {
            listeners.append(try feeds.listen(to: RoomID("zoo/r\(number)"), numbers: numbers, quotas: quotas))
        }
        listeners.removeFirst()
        listeners.append(try feeds.listen(to: "shop/other", numbers: numbers, quotas: quotas))
        #expect(feeds.listenerCount == 200)
    }

    @Test func oneAppsFeedsDoNotTakeAnothersByDefault() throws {
        let feeds = RoomListeners()
        let numbers = NumberSource()
        let taken = try (0..<Quotas()[.feeds]).map {
            try feeds.listen(to: RoomID("shop/r\($0)"), numbers: numbers)
        }
        #expect(throws: OrchestratorError.self) { try feeds.listen(to: "shop/x", numbers: numbers) }
        let other = try feeds.listen(to: "zoo/r", numbers: numbers)
        withExtendedLifetime((taken, other)) {}
    }

    @Test func wireCallsNameTheQuota() async throws {
        let error = CallError(OrchestratorError.overQuota(.tasks, 7, "shop"))
        #expect(error.code == "QuotaExceeded.Tasks" && error.status == .badRequest)
        #expect(error.message.contains("7 tasks"))
    }

    // MARK: Settings

    @Test func whatIsLeftOutIsAsForEverybody() throws {
        let settings = try testConfiguration(
            "/tmp/none",
            [
                "quotas.rooms": ["50"], "quotas.feeds": ["9"], "apps.0.id": ["shop"], "apps.0.quotas.rooms": ["7"],
                "apps.1.id": ["zoo"],
            ])
        let quotas = settings.apps.quotas
        #expect(quotas.of("shop")[.rooms] == 7 && quotas.of("shop")[.feeds] == 9)
        #expect(quotas.of("zoo")[.rooms] == 50 && quotas.of(.standard)[.rooms] == 50)
        #expect(quotas.of("zoo")[.tasks] == 10_000 && quotas.of("zoo")[.publishers] == 512)
    }

    @Test func quotasStandInFilesAndInTheEnvironment() throws {
        let yaml = """
            quotas: { rooms: 9 }
            apps:
              - id: shop
                quotas: { storedBytes: 1000, rooms: 3 }
            """
        let values = try ConfigurationKeys.parse(yaml, name: "a.yaml")
        #expect(values.keys.map(\.description).sorted().count == 4)
        #expect(AppKeys.isVariable("APPS_0_QUOTAS_STORED_BYTES") && !AppKeys.isVariable("APPS_0_QUOTAS_BYTES"))
        #expect(throws: StartupError.self) {
            try ConfigurationKeys.parse("apps: [{ id: shop, quotas: { room: 3 } }]", name: "a.yaml")
        }
        #expect(throws: StartupError.self) { try testConfiguration("/tmp/none", ["quotas.rooms": ["many"]]) }
    }
}
