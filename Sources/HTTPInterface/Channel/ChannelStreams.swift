import Foundation
import MixModel
import NIOCore
import NIOHTTP1
import RoomChannel
import RoomService
import Synchronization

/// Streams of server-sent events (HTML living standard, §9.2) from channels. Thread-safe.
package final class ChannelStreams: Sendable {
    private let channels: RoomChannels
    private let heartbeat: Duration
    private let lanes = Mutex<[ObjectIdentifier: ChannelStreamLane]>([:])

    static let form = ChannelDelivery.Form("server-sent events, chunked")
    /// Number of bytes that the kernel may buffer for a follower beyond those in flight.
    private static let mostUnsent = 64 << 10

    /// - Parameter heartbeat: Interval between two comments on an otherwise idle connection.
    package init(_ channels: RoomChannels, heartbeat: Duration = .seconds(15)) {
        self.channels = channels
        self.heartbeat = heartbeat
    }

    /// A follower that has joined and whose stream can begin. Releasing it leaves the channel, even if the stream never
    /// begins.
    final class Follower: Sendable {
        /// The beginning of the stream, until it is written.
        private let opening: Mutex<ByteBuffer?>
        fileprivate let handler: NIOLoopBound<ChannelStreamHandler>
        fileprivate let done: EventLoopFuture<Void>
        private let leave: @Sendable () -> Void

        fileprivate init(
            _ opening: ByteBuffer, _ handler: NIOLoopBound<ChannelStreamHandler>, _ done: EventLoopFuture<Void>,
            leave: @escaping @Sendable () -> Void
        ) {
            self.opening = Mutex(opening)
            self.handler = handler
            self.done = done
            self.leave = leave
        }

        fileprivate func takeOpening() -> ByteBuffer { opening.withLock { $0.take() } ?? ByteBuffer() }

        deinit { leave() }
    }

    /// Adds a connection to a channel.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, or there is no place.
    func join(
        _ room: RoomID, after known: Int64?, address: String, channel: any Channel
    ) async throws -> Follower {
        let lane = lane(of: channel.eventLoop)
        let (handler, done) = try await channel.eventLoop.submit {
            guard let followers = lane.followers.value else { throw ChannelError.ioOnClosedChannel }
            let done = channel.eventLoop.makePromise(of: Void.self)
            let handler = ChannelStreamHandler(.init(lane), lane: followers, done: done)
            return (NIOLoopBound(handler, eventLoop: channel.eventLoop), done.futureResult)
        }.get()
        let mailbox = try await channel.eventLoop.submit { handler.value.mailbox }.get()
        do {
            let welcome = try await channels.join(
                room, ChannelViewer(address: address), after: known,
                deliver: { delivery in
                    let bytes = delivery.bytes(Self.form) { ServerSentEvents.chunk(of: $0) }
                    return bytes.readableBytes == 0 || mailbox.put(bytes, for: handler)
                },
                end: { lane.finish(handler) })
            let viewer = welcome.viewer
            return Follower(ServerSentEvents.chunk(of: welcome), handler, done) { [channels] in
                channels.leaveSoon(room, viewer)
                // Fulfils the promise of a stream that has not begun.
                channel.eventLoop.execute { handler.value.abandon() }
            }
        } catch {
            channel.eventLoop.execute { handler.value.abandon() }
            throw error
        }
    }

    /// Writes the stream until the follower is gone or the service shuts down. Call it while a chunked response is being
    /// written; nothing else may write meanwhile.
    func play(_ follower: Follower, to channel: any Channel) async throws {
        let opening = follower.takeOpening()
        try await channel.eventLoop.flatSubmit {
            do {
                // Without this option, data buffered in the kernel would not count as a backlog.
                try? channel.syncOptions?.setOption(
                    .tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))), value: Self.mostUnsent)
                let encoder = try channel.pipeline.syncOperations.handler(type: HTTPResponseEncoder.self)
                try channel.pipeline.syncOperations.addHandler(follower.handler.value, position: .before(encoder))
                follower.handler.value.start(with: opening)
                return follower.done
            } catch {
                return channel.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }

    private func lane(of eventLoop: any EventLoop) -> ChannelStreamLane {
        lanes.withLock { lanes in
            if let lane = lanes[ObjectIdentifier(eventLoop)] { return lane }
            let lane = ChannelStreamLane(
                eventLoop, heartbeat: .nanoseconds(heartbeat.inNanoseconds), ServerSentEvents.heartbeat)
            lanes[ObjectIdentifier(eventLoop)] = lane
            return lane
        }
    }
}

extension Duration {
    fileprivate var inNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
