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
