import Foundation
import HTTPTypes
import LayoutEngine
import TaskStore
import Testing

@testable import MixOrchestrator

/// A service whose store has unreadable parts.
@Suite(.timeLimit(.minutes(2))) struct DamagedStoreTests {
    /// Overwrites text in a file with other text of the same length.
    private static func replace(_ old: String, with new: String, in path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        try #require(old.utf8.count == new.utf8.count && data.range(of: Data(old.utf8)) != nil)
        while let range = data.range(of: Data(old.utf8)) { data.replaceSubrange(range, with: Data(new.utf8)) }
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test func documentsThatCannotBeReadCostNothingButThemselves() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let before = ScriptedRelays()
            try await withOrchestrator(directory: directory, relays: before) { bench in
                for room in ["brokenroom", "sound"] { try await bench.publish("alice", room: room) }
                try await eventually { before.started.count == 2 ? true : nil }
                await bench.store.close()
            }
            before.tearDown()
            // Damages the room, its task and its event.
            try Self.replace(#""id":"brokenroom""#, with: #""id";"brokenroom""#, in: path)
            try Self.replace(#""room":"brokenroom""#, with: #""room";"brokenroom""#, in: path)

            let told = LockedBox<[UnreadableRow]>([])
            let store = try SQLiteTaskStore(path: path, onUnreadable: { told.value.append($0) })
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withOrchestrator(directory: directory, relays: relays, store: store) { bench in
                let sound = try await bench.call(.get, "/v1/rooms/sound")
                #expect(try sound.value("participants.0.user") == "alice", "\(sound.text)")
                try await eventually { relays.started.contains { $0.task == "auto-sound" } ? true : nil }
                // The damaged room starts from nothing.
                #expect(try await bench.call(.get, "/v1/rooms/brokenroom").status == 404)
                try await bench.publish("bob", room: "brokenroom")
                let anew = try await bench.call(.get, "/v1/rooms/brokenroom")
                #expect(try anew.value("participants.0.user") == "bob", "\(anew.text)")
                #expect(try anew.value("participants.1.user") == nil)
                try await eventually { relays.started.contains { $0.task == "auto-brokenroom" } ? true : nil }
            }
            #expect(Set(told.value.map(\.id)).isSuperset(of: ["brokenroom", "auto-brokenroom"]))
            #expect(told.value.filter(\.isSetAside).count == 2)
            await store.close()
        }
    }
}
