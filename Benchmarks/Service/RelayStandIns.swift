import EncodedMedia
import Foundation
import MixModel
import NIOCore
import NIOPosix
import Synchronization

/// Stand-ins for relays: they listen where the service looks for relays and speak their protocol, so that plans can be
/// timed without media.
final class RelayStandIns: Sendable {
    struct Arrival: Sendable {
        var room: RoomID
        var revision: Int
        /// Time at which the service had the event, in ns of CLOCK_MONOTONIC. `at` is the time at which the plan
        /// arrived here.
        var causedAt: Int64
        var at: Int64
    }

    private let arrivals = Mutex<[Arrival]>([])
    private let connected = Mutex(0)
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Returns the arrivals since the last call.
    func takeArrivals() -> [Arrival] {
        arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// Number of relays that the service has adopted.
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

    /// The parts of a `RelayCommand` that a stand-in needs. Reading all of a plan is the work of a real relay.
    private struct Command: Decodable {
        struct Nothing: Decodable {}
        struct Application: Decodable { var _0: Plan }
        struct Plan: Decodable {
            struct Part<ID: Decodable>: Decodable { var id: ID }
            var revision: Int
            var room: RoomID
            var causedAt: Int64
            var sources: [Part<SourceID>]
            var outputs: [Part<OutputID>]
        }
        var hello: Nothing?
        var apply: Application?
        var drain: Nothing?
    }

    private final class StandIn: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let task: TaskID
        private let standIns: RelayStandIns
        private var received = ByteBuffer()
        private var plan: Command.Plan?
        private let startedAt = monotonicTime()
        /// The next status, due one second after the last, as from a relay.
        private var next: Scheduled<Void>?

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
                if let command = try? JSONDecoder().decode(Command.self, from: Data(line)) {
                    take(command, now, context)
                }
            }
            received.discardReadBytes()
        }

        private func take(_ command: Command, _ now: Int64, _ context: ChannelHandlerContext) {
            if command.hello != nil { standIns.connected.withLock { $0 += 1 } }
            if let plan = command.apply?._0 {
                self.plan = plan
                let arrival = Arrival(room: plan.room, revision: plan.revision, causedAt: plan.causedAt, at: now)
                standIns.arrivals.withLock { $0.append(arrival) }
            }
            guard command.drain == nil else { return context.close(promise: nil) }
            report(context)
        }

        func channelInactive(context: ChannelHandlerContext) { next?.cancel() }

        private func report(_ context: ChannelHandlerContext) {
            next?.cancel()
            let now = monotonicTime()
            guard let line = try? DocumentEncoder.json(RelayReport.status(status(now))) else { return }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: line + "\n")), promise: nil)
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            next = context.eventLoop.scheduleTask(in: .seconds(1)) {
                let (standIn, context) = bound.value
                standIn.report(context)
            }
        }

        /// Returns the status of a relay that mixes and whose sources and destinations are all live.
        private func status(_ now: Int64) -> RelayStatus {
            let age = MediaTime(nanoseconds: now - startedAt)
            let mixer = MixerLoad(processID: 1, cpuSeconds: age.inSeconds / 1000, frameDivisor: 1, pace: FramePace())
            return RelayStatus(
                task: task, processID: getpid(), revision: plan?.revision ?? 0, onAir: plan == nil ? nil : .mix,
                bypassSource: nil, scene: nil,
                sources: (plan?.sources ?? []).map {
                    SourceStatus(id: $0.id, state: .live, pictureSize: .init(width: 720, height: 1280), frameRate: 20)
                },
                outputs: (plan?.outputs ?? []).map {
                    OutputStatus(
                        DestinationStatus(
                            id: $0.id, state: .live, connectedSince: 1.7e9, bytesSent: Int64(age.inSeconds * 160_000),
                            droppedFrames: 0))
                },
                programTime: age,
                load: RelayLoad(relaySeconds: age.inSeconds / 1000, mixer: mixer))
        }
    }
}
