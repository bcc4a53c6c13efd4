import Foundation
import HTTPTypes
import LayoutEngine
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// Names stay in their app, and are returned exactly as they were sent.
@Suite(.timeLimit(.minutes(10))) struct IdentityTests {
    private static func isSame(_ left: String?, _ right: String) -> Bool {
        left.map { $0.utf8.elementsEqual(right.utf8) } ?? false
    }

    private static func quoted(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode([text]).dropFirst().dropLast(), as: UTF8.self)
    }

    // MARK: Both spellings

    private static let spellings: [RoomID] = ["caf\u{E9}", "cafe\u{301}", "shop/\u{301}x", "shop/caf\u{E9}"]

    /// Writes data of an earlier version: rooms on air whose names are equal for Swift and different for SQLite.
    private static func oldDirectory(_ directory: String) async throws {
        let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
        let context = PlanningContext(
            template: LayoutTemplate(
                name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
            defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")],
            defaultCanvas: RoomCanvas(.portrait))
        for id in spellings {
            var room = Room(id: id)
            let event = RoomEvent(
                room: id, source: "s", id: id.rawValue,
                kind: .streamPublished(Publication(user: "alice", url: "rtmp://127.0.0.1/live/a")))
            _ = RoomMachine.apply(event, to: &room)
            var task = TaskMachine(id: .automatic(for: id), room: id)
            _ = task.roomChanged(
                room, context: context, cause: Cause(receivedAt: 0, summary: "test"), urgency: .immediate, now: 0)
            var explicit = TaskMachine(id: TaskID(app: id.app, name: id.name), room: id)
            _ = explicit.roomChanged(
                room, context: context, cause: Cause(receivedAt: 0, summary: "test"), urgency: .immediate, now: 0)
            _ = try await store.commit(
                StoreChange(
                    event: event, room: .put(room, expected: 0),
                    tasks: [task, explicit].map { .init(id: $0.id, write: .put($0, expected: 0)) }))
        }
        await store.close()
    }

    @Test func aDataDirectoryWithBothSpellingsStarts() async throws {
        try await withDirectory { directory in
            try await Self.oldDirectory(directory)
            for start in 1...2 {
                let relays = ScriptedRelays()
                defer { relays.tearDown() }
                try await withOrchestrator(directory: directory, relays: relays, settings: ["apps.0.id": ["shop"]]) {
                    bench in
                    for id in Self.spellings {
                        let path = "/v1/rooms/\(GraphemeClasses.percentEncoded(id.name))?app=\(id.app)"
                        let answer = try await bench.call(.get, path)
                        #expect(answer.status == 200, "start \(start), \(id): \(answer.text)")
                        #expect(Self.isSame(try answer.value("id"), id.name))
                        #expect(try answer.value("participants.0.user") == "alice")
                    }
                    // Each room has its own relay.
                    try await eventually { Set(relays.started.map(\.task)).count >= Self.spellings.count ? true : nil }
                    let rooms = try await bench.call(.get, "/v1/rooms")
                    #expect(try rooms.value("rooms.0.id").map { Array($0.utf8) } == Array("cafe\u{301}".utf8))
                    #expect(try rooms.value("rooms.1.id").map { Array($0.utf8) } == Array("caf\u{E9}".utf8))
                    #expect(try rooms.value("rooms.2.id") == nil)
                    // Nothing new is accepted under such a name, and the existing rooms can be removed.
                    let old = GraphemeClasses.percentEncoded("cafe\u{301}")
                    let event = #"{"type":"participant.joined","user":"bob"}"#
                    let refused = try await bench.call(.post, "/v1/rooms/\(old)/events", event)
                    #expect(refused.status == 422 && refused.text.contains("NFC"), "\(refused.text)")
                    #expect(try await bench.call(.put, "/v1/rooms/\(old)", "{}").status == 422)
                    guard start == 2 else { return }
                    #expect(try await bench.call(.delete, "/v1/rooms/\(old)").status == 204)
                    #expect(try await bench.call(.get, "/v1/rooms/\(old)").status == 404)
                    let kept = GraphemeClasses.percentEncoded("caf\u{E9}")
                    #expect(try await bench.call(.get, "/v1/rooms/\(kept)").status == 200)
                }
            }
        }
    }

    // MARK: Every interface

    /// Sends a name through every interface that creates something.
    private static func send(_ name: String, _ number: Int, _ bench: Bench) async throws -> [(String, Answer)] {
        let (json, path) = (try quoted(name), GraphemeClasses.percentEncoded(name))
        let published = #"{"user":\#(json),"url":"rtmp://127.0.0.1/live/a"}"#
        func event(_ door: String) -> String {
            #"{"specversion":"1.0","id":"\#(door)\#(number)","source":"s","app":"shop","subject":\#(json),"#
                + #""type":"stream.published","data":\#(published)}"#
        }
        var binary: HTTPFields = [.contentType: "application/json"]
        for (field, value) in [
            "ce-specversion": "1.0", "ce-id": "b\(number)", "ce-source": "s", "ce-app": "shop",
            "ce-type": "stream.published", "ce-subject": path,
        ] {
            binary[try #require(HTTPField.Name(field))] = value
        }
        let short = #"{"type":"stream.published","user":\#(json),"url":"rtmp://127.0.0.1/live/a"}"#
        let output = #"{"id":\#(json),"url":"rtmp://127.0.0.1/live/out\#(number)"}"#
        let doors: [(String, HTTPRequest.Method, String, String, HTTPFields)] = [
            ("structured", .post, "/v1/events", event("s"), [.contentType: "application/cloudevents+json"]),
            ("batch", .post, "/v1/events", "[\(event("x"))]", [.contentType: "application/cloudevents-batch+json"]),
            ("binary", .post, "/v1/events", published, binary),
            ("short", .post, "/v1/rooms/\(path)/events?app=shop", short, [:]),
            (
                "snapshot", .put, "/v1/rooms/\(path)/streams?app=shop",
                #"{"streams":[\#(published)],"participants":[{"user":\#(json)}]}"#, [:]
            ),
            ("room", .put, "/v1/rooms/\(path)?app=shop", #"{"host":\#(json),"outputs":[\#(output)]}"#, [:]),
            (
                "task", .post, "/v1/tasks?app=shop",
                #"{"id":\#(json),"room":\#(json),"outputs":[{"id":\#(json),"url":"rtmp://127.0.0.1/live/t\#(number)"}]}"#,
                [:]
            ),
            ("layout", .post, "/v1/layouts/auto/plan?app=shop", #"{"participants":[{"user":\#(json)}]}"#, [:]),
        ]
        var answers: [(String, Answer)] = []
        for (door, method, uri, body, headers) in doors {
            answers.append((door, try await bench.call(method, uri, body, headers: headers)))
        }
        let wire = WireCaller(bench: bench)
        answers.append(
            (
                "wire",
                try await wire.call(
                    "StartLiveMPUTask",
                    [
                        "ChannelId": "wire\(number)", "TaskId": "wire\(number)", "MixMode": "0",
                        "StreamURL": "rtmp://127.0.0.1/live/w\(number)", "SingleSubParams": #"{"UserId":\#(json)}"#,
                    ])
            ))
        return answers
    }

    @Test func namesOfEveryClassStayWhatTheyAre() async throws {
        var generator = SeededGenerator(announcedFor: "namesOfEveryClassStayWhatTheyAre")
        let names = GraphemeClasses.names(random: 40, using: &generator).shuffled(using: &generator).prefix(130)
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: WireCaller.settings) { bench in
                var made: [String] = []
                for (number, name) in names.enumerated() {
                    let answers = try await Self.send(name, number, bench)
                    for (door, answer) in answers {
                        #expect(200..<500 ~= answer.status, "\(door) \(name.debugDescription): \(answer.text)")
                    }
                    // All of the service's own interfaces agree; compatible interfaces may allow other names.
                    let own = answers.filter { $0.0 != "wire" }
                    let taken = own.filter { $0.1.status < 300 }.map(\.0)
                    #expect(taken.isEmpty || taken.count == own.count, "\(name.debugDescription): only \(taken)")
                    guard !taken.isEmpty else { continue }
                    made.append(name)
                    let room = try await bench.call(
                        .get, "/v1/rooms/\(GraphemeClasses.percentEncoded(name))?app=shop")
                    #expect(Self.isSame(try room.value("id"), name), "\(name.debugDescription): \(room.text)")
                    #expect(Self.isSame(try room.value("participants.0.user"), name))
                    #expect(Self.isSame(try room.value("settings.host") ?? room.value("host"), name), "\(room.text)")
                }
                #expect(made.count > 20, "some names are good")

                // Each room belongs to the app that sent it.
                for app in ["default", "other"] {
                    let rooms = try await bench.call(.get, "/v1/rooms?app=\(app)&limit=1000")
                    #expect(try rooms.value("rooms.0") == nil, "\(app): \(rooms.text)")
                    let tasks = try await bench.call(.get, "/v1/tasks?app=\(app)&limit=1000")
                    #expect(try tasks.value("tasks.0") == nil, "\(app): \(tasks.text)")
                }
                let known = Set(made.map { Array($0.utf8) })
                for room in try await bench.store.rooms().map(\.document) where !room.id.name.hasPrefix("wire") {
                    #expect(room.id.app == "shop", "\(room.id.rawValue.debugDescription)")
                    #expect(known.contains(Array(room.id.name.utf8)), "\(room.id.rawValue.debugDescription)")
                    for person in room.participants { #expect(known.contains(Array(person.user.rawValue.utf8))) }
                }
                for task in try await bench.store.tasks().map(\.document) {
                    #expect(task.id.app == "shop" && task.room.app == "shop", "\(task.id.rawValue.debugDescription)")
                }
            }
        }
    }

    /// User names reach plans and the logs of relays, so that such names are refused.
    @Test(arguments: ["a\\nb", "a\\u0000", "e\\u0301", "\\u0301a"])
    func usersOfTheWireInterfaceHaveOneSpellingAndNoControlCharacters(_ user: String) async throws {
        try await WireRouteTests.run { caller in
            let parameters = WireRouteTests.single.merging(["SingleSubParams": #"{"UserId":"\#(user)"}"#]) { $1 }
            try WireRouteTests.expectError(
                try await caller.call("StartLiveMPUTask", parameters), 400, "InvalidParam", "UserId")
            let subscription = ["CallbackUrl": "http://127.0.0.1/", "Events.1": "UserEvent", "ChannelId": "room1"]
            let decoded = try JSONDecoder().decode([String].self, from: Data("[\"\(user)\"]".utf8))
            try WireRouteTests.expectError(
                try await caller.call("CreateEventSub", subscription.merging(["Users.1": decoded[0]]) { $1 }), 400,
                "InvalidParam", "Users.1")
        }
    }

    /// Events of another app under such a name never turn an event of this app into a duplicate.
    @Test func noOtherAppsEventIsTakenForOnesOwn() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: ["apps.0.id": ["shop"]]
            ) { bench in
                func event(_ room: String, _ app: String) -> String {
                    #"{"specversion":"1.0","id":"1","source":"s","app":"\#(app)","subject":"\#(room)","type":"room.opened"}"#
                }
                let headers: HTTPFields = [.contentType: "application/cloudevents+json"]
                _ = try await bench.call(.post, "/v1/events", event("\u{301}demo", "shop"), headers: headers)
                let own = try await bench.call(.post, "/v1/events", event("demo", "default"), headers: headers)
                #expect(try own.value("accepted") == "1", "\(own.text)")
            }
        }
    }

    // MARK: Pages of lists

    /// The rooms of the standard app are sorted between those of other apps.
    @Test(arguments: [1, 2, 3, 7])
    func pagesOfTheStandardAppLoseNothing(_ limit: Int) async throws {
        let store = MemoryTaskStore()
        let own = ["a", "b", "c0", "c", "d", "zz", "\u{E9}", "\u{10FFFF}", "\u{1F600}"]
        let last = String(repeating: "\u{10FFFF}", count: 32)
        for name in own + ["aa/x", "b/1", "b/2", "b/\(last)", "c/y", "c/\u{10FFFF}", "yy/1", "zzz/2"] {
            _ = try await store.commit(StoreChange(room: .put(Room(id: RoomID(name)), expected: 0)))
        }
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: store, settings: ["apps.0.id": ["b"]]) { bench in
                var (found, next): ([String], String?) = ([], nil)
                repeat {
                    let after = next.map { "&after=\(GraphemeClasses.percentEncoded($0))" } ?? ""
                    let page = try await bench.call(.get, "/v1/rooms?limit=\(limit)\(after)")
                    #expect(page.status == 200)
                    for index in 0..<limit {
                        if let name = try page.value("rooms.\(index).id") { found.append(name) }
                    }
                    next = try page.value("next")
                } while next != nil && found.count < 100
                #expect(found == own.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
                #expect(try await bench.call(.get, "/v1/rooms?app=b&limit=2").value("next") == "2")
            }
        }
    }
}
