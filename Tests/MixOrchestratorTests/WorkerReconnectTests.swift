import ChildProcesses
import Logging
import MixModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RoomService

@Suite(.timeLimit(.minutes(2))) struct WorkerReconnectTests {
    /// A worker that sends nonsense must not keep the service busy.
    @Test func aWorkerThatSendsNonsenseIsConnectedToEverMoreRarely() async throws {
        try await withDirectory { directory in
            let times = Mutex<[ContinuousClock.Instant]>([])
            let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    times.withLock { $0.append(.now) }
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Nonsense())
                    }
                }
                .bind(unixDomainSocketPath: directory + "/worker.sock").get()
            let starter = SocketWorkerStarter(
                .whep, worker: "/nonexistent", orphanTimeout: 1, logLevel: "error", limits: WorkerLimits())
            let link = WorkerLink<PlayCommand, PlayReport>(
                starter, socket: directory + "/worker.sock", log: directory + "/log", isAdopted: true,
                longestLine: PlayCommand.longestLine, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await link.run { _ in true } }
                try await eventually { times.withLock { $0.count > 3 } ? true : nil }
                group.cancelAll()
            }
            try await server.close()
            let first = times.withLock { Array($0.prefix(4)) }
            #expect(first[3] - first[0] >= .milliseconds(50 + 100 + 200))
        }
    }
}

private final class Nonsense: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        context.channel.writeAndFlush(ByteBuffer(string: "nonsense\n"), promise: nil)
    }
}
