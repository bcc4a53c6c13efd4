import Foundation
import Testing

@testable import RTMP

@Suite struct SocketPollerTests {
    private static func pair() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private static func watch(_ descriptor: Int32, _ events: Int32 = POLLIN) -> SocketLoop.Watch {
        let watch = SocketLoop.Watch(onReady: {}, onDeadline: {})
        (watch.descriptor, watch.events) = (descriptor, events)
        return watch
    }

    /// Returns the watches that are ready within `timeout` ms.
    private static func ready(_ poller: inout SocketPoller, _ timeout: Int32 = 0) -> [SocketLoop.Watch] {
        (0..<poller.wait(timeout)).compactMap { poller.watch(of: poller[$0]) }
    }

    @Test func anEventOfAClosedDescriptorIsNotItsSuccessors() throws {
        var poller = SocketPoller(wake: -1)
        let pairs = try (0..<3).map { _ in try Self.pair() }
        let (first, second) = (Self.watch(pairs[0].near), Self.watch(pairs[1].near))
        for (watch, pair) in [(first, pairs[0]), (second, pairs[1])] {
            poller.update(watch, former: -1)
            #expect(send(pair.far, [1], 1, 0) == 1)
        }
        let count = poller.wait(1000)
        let tags = (0..<count).map { poller[$0] }
        #expect(tags.count == 2)
        // While the first one is handled, the second is closed, and its number now belongs to a socket with nothing to
        // read.
        poller.remove(second, pairs[1].near)
        #expect(dup2(pairs[2].near, pairs[1].near) == pairs[1].near)
        let third = Self.watch(pairs[1].near)
        poller.update(third, former: -1)
        #expect(tags.compactMap { poller.watch(of: $0) }.map { $0 === first } == [true])
        #expect(send(pairs[2].far, [1], 1, 0) == 1)
        #expect(Self.ready(&poller, 1000).contains { $0 === third })
        for pair in pairs { for end in [pair.near, pair.far] { close(end) } }
    }

    @Test func aWatchThatHasTakenOverADescriptorKeepsIt() throws {
        var poller = SocketPoller(wake: -1)
        let pair = try Self.pair()
        defer { for end in [pair.near, pair.far] { close(end) } }
        let (former, next) = (Self.watch(pair.near), Self.watch(pair.near))
        poller.update(former, former: -1)
        poller.update(next, former: -1)
        poller.remove(former, pair.near)
        #expect(send(pair.far, [1], 1, 0) == 1)
        #expect(Self.ready(&poller, 1000).map { $0 === next } == [true])
    }

    @Test func onlyWhatIsAwaitedIsReady() throws {
        var poller = SocketPoller(wake: -1)
        let pair = try Self.pair()
        let watch = Self.watch(pair.near, 0)
        poller.update(watch, former: -1)
        #expect(send(pair.far, [1], 1, 0) == 1)
        #expect(Self.ready(&poller).isEmpty)
        watch.events = POLLIN
        poller.update(watch, former: pair.near)
        #expect(Self.ready(&poller).count == 1)
        watch.descriptor = -1
        poller.update(watch, former: pair.near)
        #expect(Self.ready(&poller).isEmpty)
        // The end of a connection is always reported, as by poll().
        (watch.descriptor, watch.events) = (pair.near, 0)
        poller.update(watch, former: -1)
        close(pair.far)
        #expect(Self.ready(&poller, 1000).count == 1)
        poller.remove(watch, pair.near)
        close(pair.near)
    }

    @Test func moreThanOneWaitHoldsAreAllHandled() throws {
        var poller = SocketPoller(wake: -1)
        let pairs = try (0..<100).map { _ in try Self.pair() }
        defer { for pair in pairs { for end in [pair.near, pair.far] { close(end) } } }
        let watches = pairs.map { Self.watch($0.near) }
        for (watch, pair) in zip(watches, pairs) {
            poller.update(watch, former: -1)
            #expect(send(pair.far, [1], 1, 0) == 1)
        }
        var seen: Set<ObjectIdentifier> = []
        for _ in 0..<4 { seen.formUnion(Self.ready(&poller, 1000).map(ObjectIdentifier.init)) }
        #expect(seen.count == 100)
    }
}
