import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import TaskStore

/// Names that are equal in Swift and different in SQLite.
@Suite struct SpellingTests {
    private let composed: RoomID = "caf\u{E9}"
    private let decomposed: RoomID = "cafe\u{301}"

    @Test(arguments: StoreUnderTest.all)
    func bothSpellingsAreKept(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for room in [composed, decomposed] {
                let task = TaskID.automatic(for: room)
                _ = try await store.commit(
                    StoreChange(
                        event: event("1", room: room, source: room.rawValue), room: .put(Room(id: room), expected: 0),
                        tasks: [.init(id: task, write: .put(TaskMachine(id: task, room: room), expected: 0))]))
            }
            // Rooms are in the order of their bytes: e comes before é.
            #expect(try await store.rooms().map(\.document.id) == [decomposed, composed])
            #expect(try await store.rooms(after: decomposed, limit: 9).map(\.document.id) == [composed])
            #expect(try await store.roomsWithTasks(after: nil, limit: 9) == [decomposed, composed])
            #expect(try await store.tasks(of: decomposed).map(\.document.room) == [decomposed])
            let rooms = try await store.roomsOfTasks()
            #expect(rooms.count == 2)
            #expect(rooms[.automatic(for: composed)] == composed)
            #expect(try await store.room(composed)?.document.id == composed)
            // Ids of events are compared by bytes too.
            for id in ["\u{E9}", "e\u{301}"] {
                #expect(try await store.commit(StoreChange(event: event(id))) == .committed)
                #expect(try await store.commit(StoreChange(event: event(id))) == .duplicate)
            }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func pagesGoByTheBytesOfNames(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let names = ["\u{10FFFF}", "z", "\u{E9}", "e\u{301}", "b/x", "\u{FF5E}", "a", "b", "b0", "\u{1F600}", "B"]
            for name in names {
                _ = try await store.commit(StoreChange(room: .put(Room(id: RoomID(name)), expected: 0)))
            }
            var found: [RoomID] = []
            while case let page = try await store.rooms(after: found.last, limit: 2), !page.isEmpty {
                found += page.map(\.document.id)
            }
            #expect(found == names.map { RoomID($0) }.sorted())
            await store.close()
        }
    }
}
