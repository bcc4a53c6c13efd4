import Foundation
import MixModel
import NIOCore
import NIOPosix
import Synchronization

/// Listens where the service looks for relays and speaks their protocol, so that plans can be timed without media.
final class RelayStandIns: Sendable {
    struct Arrival: Sendable {
        var room: RoomID
        var revision: Int
        /// In ns of CLOCK_MONOTONIC: when the service had the event, and when the plan was here.
        var causedAt: Int64
        var at: Int64
    }

    private let arrivals = Mutex<[Arrival]>([])
    private let connected = Mutex(0)
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Those so far; each is told once.
    func takeArrivals() -> [Arrival] {
        arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// Relays that the service has adopted.
    var connectedCount: Int { connected.withLock { $0 } }

    func listen(tasks: [TaskID], directory: String) async throws {
        for task in tasks {
            _ = try await ServerBootstrap(group: group)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(StandIn(task: task, standIns: self))
                    }
                }
                .bind(unixDomainSocketPath: "\(directory)/\(task).sock").get()
        }
    }

    func stop() { group.shutdownGracefully { _ in } }

    private final class StandIn: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let task: TaskID
        private let standIns: RelayStandIns
        private var received = ByteBuffer()
        private var revision = 0

        init(task: TaskID, standIns: RelayStandIns) {
            self.task = task
            self.standIns = standIns
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let now = monotonicTime()
            var buffer = unwrapInboundIn(data)
            received.writeBuffer(&buffer)
            while let end = received.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let line = received.readBytes(length: end - received.readerIndex) ?? []
                received.moveReaderIndex(forwardBy: 1)
                if let command = try? JSONDecoder().decode(RelayCommand.self, from: Data(line)) {
                    take(command, now, context)
                }
            }
            received.discardReadBytes()
        }

        private func take(_ command: RelayCommand, _ now: Int64, _ context: ChannelHandlerContext) {
            switch command {
            case .hello:
                standIns.connected.withLock { $0 += 1 }
                let channel = context.channel
                let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
                context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
                    guard channel.isActive else { return task.cancel() }
                    bound.value.report(on: channel)
                }
            case .apply(let plan):
                revision = plan.revision
                let arrival = Arrival(room: plan.room, revision: revision, causedAt: plan.causedAt, at: now)
                standIns.arrivals.withLock { $0.append(arrival) }
            case .drain:
                context.close(promise: nil)
                return
            case .viewFLV, .retryOutput:
                return
            }
            report(on: context.channel)
        }

        private func report(on channel: any Channel) {
            let status = RelayStatus(
                task: task, processID: getpid(), revision: revision, onAir: revision > 0 ? .bypass : nil,
                bypassSource: nil, scene: nil, sources: [], outputs: [], programTime: .zero)
            guard var line = try? JSONEncoder().encode(RelayReport.status(status)) else { return }
            line.append(UInt8(ascii: "\n"))
            channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
        }
    }
}
