import Foundation
import Logging
import MixModel
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The Unix socket at which workers of this node read programs of other nodes. Thread-safe.
///
/// A worker opens one connection for each program, for all of its players (`ProgramRequest`). It ends when the program is no
/// longer where it came from; the worker then tries its own relay first, and this socket again.
package final class ProgramGateway: Service {
    /// A worker that has asked for a program.
    struct Visit: Sendable {
        let channel: any Channel
        let task: TaskID
        let room: RoomID
        /// Requests for keyframes. Several that wait are one.
        let wishes: AsyncStream<Void>
    }

    private let path: String
    private let programs: any ProgramsElsewhere
    private let logger: Logger
    /// Largest number of connections at once.
    private let most: Int
    private let count = Mutex(0)
    private let visits: AsyncStream<Visit>
    private let visit: AsyncStream<Visit>.Continuation

    /// Shortest time between two requests for a keyframe of one connection, as relays combine them.
    private static let keyframePause: Duration = .milliseconds(350)

    /// - Parameters:
    ///   - data: The data directory, in which relays' sockets have longer paths.
    ///   - most: Largest number of connections at once; others are closed.
    /// - Throws: `StartupError` if the directory cannot be created.
    package init(
        data: String, programs: any ProgramsElsewhere, most: Int = 512, logger: Logger
    ) throws(StartupError) {
        let directory = data + "/programs"
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
        path = directory + "/programs.sock"
        self.programs = programs
        self.most = most
        self.logger = logger
        (visits, visit) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(most))
    }

    /// Returns the way to a program while no relay of this node has it.
    func detour(to task: TaskID, of room: RoomID) -> ProgramDetour {
        ProgramDetour(socket: path, task: task, room: room)
    }

    package func run() async throws {
        let server: any Channel
        do {
            server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ProgramGatewayHandler(gateway: self))
                    }
                }
                .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        } catch {
            logger.error("programs of other nodes are not played here: cannot listen on \(path): \(error)")
            try? await gracefulShutdown()
            return
        }
        await withDiscardingTaskGroup { group in
            for await visit in visits.cancelOnGracefulShutdown() {
                group.addTask { await self.serve(visit) }
            }
            group.cancelAll()
        }
        try? await server.close()
    }

    /// Sends the program until it ends or the worker leaves.
    private func serve(_ visit: Visit) async {
        let channel = visit.channel
        // A write to a worker that does not read ends with the connection only.
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [programs] in
                    _ = await programs.view(visit.task, of: visit.room) {
                    } onBytes: { bytes in
                        try await channel.writeAndFlush(bytes).get()
                    }
                }
                group.addTask { try? await channel.closeFuture.get() }
                group.addTask { [programs] in
                    for await _ in visit.wishes {
                        await programs.requestKeyframe(of: visit.task, in: visit.room)
                        guard (try? await Task.sleep(for: Self.keyframePause)) != nil else { return }
                    }
                }
                await group.next()
                group.cancelAll()
                channel.close(promise: nil)
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    // MARK: For connections

    /// Reserves a place for a connection.
    fileprivate func enter() -> Bool {
        count.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
    }

    fileprivate func leave() { count.withLock { $0 -= 1 } }

    /// - Returns: Whether the program will be sent.
    fileprivate func take(_ new: Visit) -> Bool {
        if case .enqueued = visit.yield(new) { true } else { false }
    }
}

/// Reads a worker's requests. Lives on the connection's event loop.
private final class ProgramGatewayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let gateway: ProgramGateway
    private var lines = LineSplitter(limit: ProgramRequest.longestLine)
    private var isCounted = false
    private var wish: AsyncStream<Void>.Continuation?

    init(gateway: ProgramGateway) { self.gateway = gateway }

    func channelActive(context: ChannelHandlerContext) {
        isCounted = gateway.enter()
        if !isCounted { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        wish?.finish()
        if isCounted { gateway.leave() }
        isCounted = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isCounted else { return }
        do {
            for line in try lines.append(unwrapInboundIn(data).readableBytesView) {
                take(try JSONDecoder().decode(ProgramRequest.self, from: Data(line)), context)
            }
        } catch {
            context.close(promise: nil)
        }
    }

    private func take(_ request: ProgramRequest, _ context: ChannelHandlerContext) {
        switch request {
        case .view(let task, let room):
            guard self.wish == nil else { return }
            let (wishes, wish) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            self.wish = wish
            let visit = ProgramGateway.Visit(channel: context.channel, task: task, room: room, wishes: wishes)
            if !gateway.take(visit) { context.close(promise: nil) }
        case .requestKeyframe: wish?.yield(())
        }
    }
}
