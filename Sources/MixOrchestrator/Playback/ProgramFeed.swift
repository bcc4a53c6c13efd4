import Foundation
import Logging
import MixModel
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// One program for all of its viewers: one connection to the relay, read once. Thread-safe.
///
/// `run` owns the connection. It is made again when it is gone and the task still wants a program; viewers stay
/// meanwhile.
final class ProgramFeed: Sendable {
    let task: TaskID
    private let services: PlaybackServices
    private let home: any EventLoop
    private let intake: NIOLoopBoundBox<ProgramIntake?>

    private struct State {
        var window: ProgramWindow
        var groups: [ObjectIdentifier: NIOLoopBoundBox<ViewerGroup?>] = [:]
        var isOver = false
        var waiters: [EventLoopPromise<Bool>] = []
        /// ns, since nobody watches.
        var idleSince: Int64?
        var hasToldOfLongGOP = false
    }
    private let state: Mutex<State>

    /// Seconds without a viewer after which the connection is given up.
    static let idleLimit = 10
    /// Bytes that the kernel may hold for a viewer beyond what is on its way to him.
    static let mostUnsent = 128 << 10
    /// Seconds without a relay after which viewers are let go.
    static let lossLimit = 30

    init(_ task: TaskID, services: PlaybackServices) {
        self.task = task
        self.services = services
        home = MultiThreadedEventLoopGroup.singleton.next()
        intake = NIOLoopBoundBox.makeEmptyBox(valueType: ProgramIntake.self, eventLoop: home)
        state = Mutex(
            State(window: ProgramWindow(latencyCap: services.latencyCap), idleSince: MonotonicClock.now()))
    }

    // MARK: The relay's side

    /// Reads the program until it ends, or nobody has watched for a while.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.read() }
            group.addTask { await self.awaitIdleness() }
            await group.next()
            group.cancelAll()
        }
        end()
    }

    private func read() async {
        var alive = MonotonicClock.now()
        while !Task.isCancelled {
            if let connection = try? await RelayConnection.open(path: services.sockets.path(of: task)) {
                let process = await connection.peerProcess
                do {
                    try await onHome { $0.connected(to: process) }
                    try await connection.viewFLV { bytes in
                        alive = MonotonicClock.now()
                        // Not read faster than it is worked on: a relay that waits lets the connection go.
                        try await self.onHome { try $0.received(bytes) }
                    }
                } catch is FLVTagScanner.Failure {
                    services.logger.error("the relay of \(task) sends what is no FLV")
                } catch {
                    services.logger.debug("connection to the relay of \(task) for viewers: \(type(of: error))")
                }
                try? await onHome { $0.flush() }
            }
            guard await services.isWanted(task),
                MonotonicClock.now() - alive < Int64(Self.lossLimit) * 1_000_000_000
            else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func onHome(_ body: @escaping @Sendable (ProgramIntake) throws -> Void) async throws {
        try await home.submit {
            if self.intake.value == nil {
                self.intake.value = ProgramIntake(on: self.home) { [weak self] in self?.publish($0) }
            }
            if let intake = self.intake.value { try body(intake) }
        }.get()
    }

    private func awaitIdleness() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let now = MonotonicClock.now()
            let isIdle = state.withLock { state in
                guard let since = state.idleSince, now - since > Int64(Self.idleLimit) * 1_000_000_000,
                    services.viewers.viewers(of: task) == 0
                else { return false }
                // From now on nobody comes to this one any more.
                state.isOver = true
                return true
            }
            if isIdle { return }
        }
    }

    private func publish(_ batches: [FLVBatch]) {
        var waiters: [EventLoopPromise<Bool>] = []
        var isLong = false
        state.withLock { state in
            for batch in batches where !state.window.append(batch) { isLong = true }
            if state.hasToldOfLongGOP { isLong = false }
            if isLong { state.hasToldOfLongGOP = true }
            if state.window.newestEntry != nil {
                waiters = state.waiters
                state.waiters = []
            }
            // With the lock: a group that is made has what came before, and is told of what comes after.
            for group in state.groups.values {
                group.eventLoop.execute { group.value?.deliver(batches) }
            }
        }
        for waiter in waiters { waiter.succeed(true) }
        if isLong {
            services.logger.warning(
                """
                the program of \(task) has more than \(ProgramWindow.byteLimit >> 20) MiB without a keyframe: viewers who \
                come wait for the next one. Let its publisher send one every few seconds
                """)
        }
    }

    private func end() {
        let (groups, waiters) = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [] }
            return (Array(state.groups.values), state.waiters)
        }
        for waiter in waiters { waiter.succeed(false) }
        for group in groups { group.eventLoop.execute { group.value?.end() } }
    }

    // MARK: The viewers' side

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits until a player can begin. A shutdown of the service ends the wait.
    ///
    /// - Returns: False when none could in time.
    func begins(within time: TimeAmount) async -> Bool {
        let promise = home.makePromise(of: Bool.self)
        let answer = state.withLock { state -> Bool? in
            if state.isOver { return false }
            if state.window.newestEntry != nil { return true }
            state.waiters.append(promise)
            return nil
        }
        if let answer { promise.succeed(answer) }
        let timer = home.scheduleTask(in: time) { promise.succeed(false) }
        defer { timer.cancel() }
        return await withGracefulShutdownHandler {
            (try? await promise.futureResult.get()) ?? false
        } onGracefulShutdown: {
            promise.succeed(false)
        }
    }

    /// Writes the program to a connection whose answer has begun, until it ends. The chunks go past the encoder of HTTP,
    /// which ends the body afterwards.
    ///
    /// - Throws: When the viewer is gone.
    func play(to channel: any Channel) async throws {
        defer { state.withLock { $0.idleSince = MonotonicClock.now() } }
        let group = group(on: channel.eventLoop)
        try await channel.eventLoop.flatSubmit {
            do {
                guard let group = group.value else { throw ChannelError.ioOnClosedChannel }
                // What the kernel holds back is behind, too, and cannot be skipped.
                try? channel.syncOptions?.setOption(
                    .tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))), value: Self.mostUnsent)
                let encoder = try channel.pipeline.syncOperations.handler(type: HTTPResponseEncoder.self)
                return try group.add(channel, before: encoder)
            } catch {
                return channel.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }

    private func group(on eventLoop: any EventLoop) -> NIOLoopBoundBox<ViewerGroup?> {
        state.withLock { state in
            if let group = state.groups[ObjectIdentifier(eventLoop)] { return group }
            let group = NIOLoopBoundBox.makeEmptyBox(valueType: ViewerGroup.self, eventLoop: eventLoop)
            let (window, isOver, metrics) = (state.window, state.isOver, services.metrics)
            eventLoop.execute {
                let viewers = ViewerGroup(window: window, figures: PlaybackFigures(metrics))
                if isOver { viewers.end() }
                group.value = viewers
            }
            state.groups[ObjectIdentifier(eventLoop)] = group
            return group
        }
    }
}
