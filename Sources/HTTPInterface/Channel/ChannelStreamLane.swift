import NIOCore
import Synchronization

/// The followers of all channels whose connections are on one event loop. Thread-safe.
///
/// Deliveries are collected and written together on the loop: a thousand followers cost one hop.
final class ChannelStreamLane: Sendable {
    /// The followers, for heartbeats. Lives on the event loop.
    final class Followers {
        private(set) var all: [ChannelStreamHandler] = []

        func add(_ follower: ChannelStreamHandler) {
            follower.index = all.count
            all.append(follower)
        }

        func remove(_ follower: ChannelStreamHandler) {
            guard all.indices.contains(follower.index), all[follower.index] === follower else { return }
            all.swapAt(follower.index, all.count - 1)
            all[follower.index].index = follower.index
            all.removeLast()
        }
    }

    private enum Errand: Sendable {
        case deliver(ByteBuffer, NIOLoopBound<ChannelStreamHandler>)
        case disconnect(NIOLoopBound<ChannelStreamHandler>)
        case finish(NIOLoopBound<ChannelStreamHandler>)
    }

    let eventLoop: any EventLoop
    let followers: NIOLoopBoundBox<Followers?>
    private let errands = Mutex<[Errand]>([])

    /// - Parameter heartbeat: Interval between two heartbeats.
    init(_ eventLoop: any EventLoop, heartbeat: TimeAmount, _ beat: ByteBuffer) {
        self.eventLoop = eventLoop
        let followers = NIOLoopBoundBox.makeEmptyBox(valueType: Followers.self, eventLoop: eventLoop)
        self.followers = followers
        eventLoop.execute { followers.value = Followers() }
        eventLoop.scheduleRepeatedTask(initialDelay: heartbeat, delay: heartbeat) { _ in
            // A copy, because a write may show that a follower is gone.
            for follower in followers.value?.all ?? [] { follower.beat(beat) }
        }
    }

    func put(_ bytes: ByteBuffer, for follower: NIOLoopBound<ChannelStreamHandler>) {
        send(.deliver(bytes, follower))
    }

    func disconnect(_ follower: NIOLoopBound<ChannelStreamHandler>) { send(.disconnect(follower)) }

    func finish(_ follower: NIOLoopBound<ChannelStreamHandler>) { send(.finish(follower)) }

    private func send(_ errand: Errand) {
        let isFirst = errands.withLock { errands in
            errands.append(errand)
            return errands.count == 1
        }
        if isFirst { eventLoop.execute { self.run() } }
    }

    private func run() {
        let errands = errands.withLock { errands in
            defer { errands = [] }
            return errands
        }
        // Simultaneous deliveries are flushed once for each follower.
        for errand in errands {
            switch errand {
            case .deliver(let bytes, let follower): follower.value.append(bytes)
            case .disconnect(let follower): follower.value.disconnect()
            case .finish(let follower): follower.value.finish()
            }
        }
        for case .deliver(_, let follower) in errands { follower.value.pump() }
    }
}
