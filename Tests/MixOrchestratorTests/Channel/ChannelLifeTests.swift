import MixModel
import RoomChannel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The channels that a node keeps in memory.
@Suite(.timeLimit(.minutes(5))) struct ChannelLifeTests {
    private static let host = ChannelSender(user: "host", address: "127.0.0.1")

    private static func run(
        _ settings: ChannelSettings = ChannelSettings(),
        _ body: @escaping @Sendable (RoomChannels, RoomRegistry) async throws -> Void
    ) async throws {
        try await withRegistry(MemoryTaskStore()) { registry in
            try await body(RoomChannels(settings, registry: registry, metrics: Metrics()), registry)
        }
    }

    @Test func aRoomStaysLiveWhileItsHostHasItOpen() async throws {
        var settings = ChannelSettings()
        // Every channel is unused for long enough.
        settings.idleSeconds = -1
        try await Self.run(settings) { channels, registry in
            try await channels.open("show", title: "Show", by: Self.host)
            await channels.sweep()
            #expect(await channels.liveRooms(of: .standard, limit: 9).map(\.title) == ["Show"])
            // A room that was created by opening it is deleted.
            try await channels.close("show", by: Self.host)
            let left = try await registry.snapshot("show")
            #expect(left?.isStored != true)
            await channels.sweep()
            #expect(await channels.figures.channels == 0)
        }
    }

    @Test func anOpenRoomLosesItsChannelLast() async throws {
        var settings = ChannelSettings()
        settings.mostChannels = 2
        try await Self.run(settings) { channels, registry in
            try await channels.open("show", title: nil, by: Self.host)
            for room in ["a", "b"] as [RoomID] {
                let change = SettingsChange(summary: "made by a test") { settings, _ in settings }
                _ = try await registry.owner(room).configure(change, at: 0)
                _ = try await channels.history(of: room, after: nil)
            }
            #expect(await channels.liveRooms(of: .standard, limit: 9).map(\.name) == ["show"])
            #expect(await channels.figures.channels == 2)
        }
    }

    /// Half of the places for viewers are kept for the apps, the same number for each.
    @Test func anAppLeavesOthersTheirPlaces() async throws {
        var settings = ChannelSettings()
        settings.mostViewers = 4
        settings.apps = [.standard, "shop"]
        try await Self.run(settings) { channels, _ in
            func join(_ room: RoomID) async throws -> ChannelViewer.ID {
                try await channels.join(room, ChannelViewer(address: "192.0.2.1"), deliver: { _ in true }).viewer
            }
            let other = RoomID(app: "shop", name: "show")
            for room in ["show", other] as [RoomID] { try await channels.open(room, title: nil, by: Self.host) }
            let first = try await join("show")
            for _ in 0..<2 { _ = try await join("show") }
            let refusal = await #expect(throws: OrchestratorError.self) { try await join("show") }
            let words = try #require(refusal).detail
            #expect(words.hasPrefix("the app default has 3 of the 4 places of all channels"), "\(words)")
            #expect(words.hasSuffix("raise channel.maxViewers"), "\(words)")
            _ = try await join(other)
            await #expect(throws: OrchestratorError.self) { try await join(other) }
            await channels.leave("show", first)
            _ = try await join(other)
            #expect(await channels.figures.viewers == 4)
        }
    }

    /// Half of the channels are kept for the apps likewise.
    @Test func anAppLeavesOthersTheirChannels() async throws {
        var settings = ChannelSettings()
        settings.mostChannels = 4
        settings.apps = [.standard, "shop"]
        try await Self.run(settings) { channels, registry in
            func join(_ room: RoomID) async throws -> ChannelViewer.ID {
                let change = SettingsChange(summary: "made by a test") { settings, _ in settings }
                _ = try await registry.owner(room).configure(change, at: 0)
                return try await channels.join(room, ChannelViewer(address: "192.0.2.1"), deliver: { _ in true }).viewer
            }
            let first = try await join("a")
            for room in ["b", "c"] as [RoomID] { _ = try await join(room) }
            let refusal = await #expect(throws: OrchestratorError.self) { try await join("d") }
            let words = try #require(refusal).detail
            #expect(words.hasPrefix("the app default has 3 of the 4 channels"), "\(words)")
            #expect(words.hasSuffix("raise channel.maxChannels"), "\(words)")
            _ = try await join(RoomID(app: "shop", name: "a"))
            await #expect(throws: OrchestratorError.self) { try await join(RoomID(app: "shop", name: "b")) }
            // Now a channel is unused, of an app that has more than its share.
            await channels.leave("a", first)
            _ = try await join(RoomID(app: "shop", name: "b"))
            #expect(await channels.rooms == ["b", "c", "shop/a", "shop/b"])
        }
    }

    /// An app drops its own channels rather than one that is kept for another app, however unused that one is.
    @Test func aChannelThatIsKeptForAnAppStays() async throws {
        var settings = ChannelSettings()
        settings.mostChannels = 3
        settings.apps = [.standard, "shop"]
        try await Self.run(settings) { channels, registry in
            for room in ["shop/a", "a", "b", "c"] as [RoomID] {
                let change = SettingsChange(summary: "made by a test") { settings, _ in settings }
                _ = try await registry.owner(room).configure(change, at: 0)
                _ = try await channels.history(of: room, after: nil)
            }
            #expect(await channels.rooms == ["shop/a", "b", "c"])
        }
    }

    /// Stores of earlier releases have names in several spellings.
    @Test func roomsWhoseNamesOnlyLookEqualAreListedSeparately() async throws {
        try await Self.run { channels, _ in
            let names = ["cafe\u{301}", "caf\u{E9}"]
            for name in names { try await channels.open(RoomID(name), title: nil, by: Self.host) }
            let listed = await channels.liveRooms(of: .standard, limit: 9).map(\.name)
            #expect(listed.map { Array($0.utf8) } == names.map { Array($0.utf8) })
        }
    }
}
