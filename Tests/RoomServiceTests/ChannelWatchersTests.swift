import RoomChannel
import Testing

@testable import RoomService

private let second: Int64 = 1_000_000_000

/// The nodes that mirror a channel, as known to the room's node.
@Suite struct ChannelWatchersTests {
    private let snapshot = ChannelSnapshot(state: ChannelState(isLive: false, rules: ChannelRules().shown))

    @Test func viewersOfAllNodesCountWhileTheNodesAsk() {
        var watchers = ChannelWatchers()
        for (node, viewers, time) in [("a", 3, 0), ("b", 4, 10 * second)] {
            let isNoted = watchers.note(node, viewers: viewers, at: time)
            #expect(isNoted)
        }
        #expect(watchers.viewers == 7)
        _ = watchers.note("a", viewers: -5, at: 0)
        #expect(watchers.viewers == 4)
        _ = watchers.note("a", viewers: .max, at: 0)
        #expect(watchers.viewers == ChannelWatchers.mostViewers + 4)
        let expired = [29, 30, 40].map { watchers.expire(at: $0 * second) }
        #expect(expired == [false, true, true] && watchers.isEmpty)
        // Without nodes there is no log. The next node starts another one.
        #expect(watchers.bulletin(after: nil, snapshot) == nil)
    }

    @Test func thereAreNotTooManyNodes() {
        var watchers = ChannelWatchers()
        let noted = (0...ChannelWatchers.most).map { watchers.note("\($0)", viewers: 1, at: 0) }
        #expect(noted == Array(repeating: true, count: ChannelWatchers.most) + [false])
        let isNotedAgain = watchers.note("0", viewers: 2, at: 0)
        #expect(isNotedAgain)
        #expect(watchers.viewers == ChannelWatchers.most + 1)
    }

    /// A waiting node is told that there is news, that there is none, or that the channel has left. A second request of
    /// the same node ends the first.
    @MainActor @Test func nobodyWaitsForEver() async throws {
        let box = Box()
        let place = box.follow("a", snapshot).place
        async let first = box.wait("a", place)
        while box.waiting == 0 { await Task.yield() }
        async let second = box.wait("a", place)
        #expect(await first == nil)
        while box.waiting < 2 { await Task.yield() }
        box.watchers.append(.ended)
        box.watchers.serve(snapshot)
        let told = try #require(await second)
        #expect(told.notices == [.ended] && told.place.number == place.number + 1)
        async let third = box.wait("a", told.place)
        while box.waiting < 3 { await Task.yield() }
        box.watchers.passed(ChannelWatchers.patience - 1)
        box.watchers.passed(ChannelWatchers.patience)
        #expect(await third == ChannelBulletin(nothingAfter: told.place))
        async let fourth = box.wait("a", told.place)
        while box.waiting < 4 { await Task.yield() }
        box.watchers.dismiss()
        #expect(await fourth == nil)
        #expect(await box.wait("stranger", place) == nil)
    }

    @MainActor private final class Box {
        var watchers = ChannelWatchers()
        var waiting = 0

        func follow(_ node: String, _ snapshot: ChannelSnapshot) -> ChannelBulletin {
            _ = watchers.note(node, viewers: 1, at: 0)
            return watchers.bulletin(after: nil, snapshot)
                ?? ChannelBulletin(
                    nothingAfter: ChannelPlace(run: 0, number: 0))
        }

        func wait(_ node: String, _ place: ChannelPlace) async -> ChannelBulletin? {
            await withCheckedContinuation { continuation in
                watchers.wait(node, after: place, at: 0, continuation)
                waiting += 1
            }
        }
    }
}
