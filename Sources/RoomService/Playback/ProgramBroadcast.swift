import EncodedMedia
import Foundation
import Logging
import MixModel
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// One program for all of its viewers, read over a single connection to the relay. Thread-safe.
///
/// `run` owns the connection and reopens it when it is lost and the task still wants a program. Viewers stay connected
/// in the meantime.
package final class ProgramBroadcast: Sendable {
    let task: TaskID
    private let services: PlaybackServices
    private let home: any EventLoop
    private let intake: NIOLoopBoundBox<ProgramIntake?>

    private struct State {
        var window: ProgramWindow
        var groups: [ObjectIdentifier: NIOLoopBoundBox<ViewerGroup?>] = [:]
        /// Connections of other nodes that are being served.
        var nodes: [ObjectIdentifier: any Channel] = [:]
        /// Whether the program comes from another node.
        var isElsewhere = false
        var isOver = false
        var waiters: [EventLoopPromise<Bool>] = []
        /// Time since which there has been no viewer, in ns.
        var idleSince: Int64?
        var hasToldOfLongGOP = false
    }
    private let state: Mutex<State>

    /// Seconds without a viewer after which the connection is closed.
    static let idleLimit = 10
    /// Bytes that the kernel may hold for a viewer beyond those in flight.
    static let mostUnsent = 128 << 10
    /// Seconds without a relay after which viewers are disconnected.
    static let lossLimit = 30
    /// Seconds for which a program whose room has moved is looked for at the node that has it.
    static let moveLimit = 5

    init(_ task: TaskID, services: PlaybackServices) {
        self.task = task
        self.services = services
        home = MultiThreadedEventLoopGroup.singleton.next()
        intake = NIOLoopBoundBox.makeEmptyBox(valueType: ProgramIntake.self, eventLoop: home)
        state = Mutex(
            State(window: ProgramWindow(latencyCap: services.latencyCap), idleSince: MonotonicClock.now()))
    }

    // MARK: The relay's side

    /// Reads the program until it ends, or until there has been no viewer for `idleLimit`.
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
        // Programs of other nodes are counted with numbers that no process has.
        var others: Int32 = 0
        while !Task.isCancelled {
            var isElsewhere = false
            if let connection = try? await RelayConnection.open(path: services.sockets.path(of: task)) {
                let process = await connection.peerProcess
                do {
                    try await onHome { $0.connected(to: process) }
                    try await connection.viewFLV { bytes in
                        alive = MonotonicClock.now()
                        // Not read faster than it is processed. A relay that has to wait too long closes the
                        // connection.
                        try await self.onHome { try $0.received(bytes) }
                    }
                } catch is FLVTagScanner.Failure {
                    services.logger.error("the relay of \(task) sends invalid FLV")
                } catch {
                    services.logger.debug("connection to the relay of \(task) for viewers: \(type(of: error))")
                }
                try? await onHome { $0.flush() }
            } else if let elsewhere = services.elsewhere {
                others -= 1
                let number = others
                isElsewhere = await elsewhere.view(task) {
                    self.sendNodesAway()
                    try await self.onHome { $0.connected(to: number) }
                } onBytes: { bytes in
                    alive = MonotonicClock.now()
                    try await self.onHome { try $0.received(bytes) }
                }
                state.withLock { $0.isElsewhere = false }
                try? await onHome { $0.flush() }
            }
            let silence = MonotonicClock.now() - alive
            var isWanted = isElsewhere
            if !isWanted { isWanted = await services.isWanted(task) }
            // The room may just have moved.
            if !isWanted, silence < Int64(Self.moveLimit) * 1_000_000_000 {
                isWanted = await services.elsewhere?.mayHave(task) ?? false
            }
            guard isWanted, silence < Int64(Self.lossLimit) * 1_000_000_000 else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Ends the connections of other nodes, before anything of another node's program is published: they read it from that node
    /// themselves, and would get the same pictures twice.
    private func sendNodesAway() {
        let nodes = state.withLock { state in
            state.isElsewhere = true
            defer { state.nodes = [:] }
            return Array(state.nodes.values)
        }
        for channel in nodes { channel.close(promise: nil) }
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
                    services.viewers.viewersHere(of: task) == 0
                else { return false }
                // From here on, this broadcast accepts no viewers.
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
            // Under the lock, so that a new group has all earlier batches and gets all later ones.
            for group in state.groups.values {
                group.eventLoop.execute { group.value?.deliver(batches) }
            }
        }
        for waiter in waiters { waiter.succeed(true) }
        if isLong {
            services.logger.warning(
                """
                the program of \(task) has more than \(ProgramWindow.byteLimit >> 20) MiB without a keyframe: new \
                viewers wait for the next one. Configure its publisher to send one every few seconds
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

    /// Waits until a player can start. A shutdown of the service ends the wait.
    ///
    /// - Returns: False when no player can start in time.
    package func begins(within time: TimeAmount) async -> Bool {
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

    /// Writes the program to a connection whose answer has begun, until the program ends. The chunks bypass the HTTP
    /// encoder, which ends the body afterwards.
    ///
    /// - Parameter isForNode: Whether the viewer is another node, which is served only while the program is made here.
    /// - Throws: An error when the viewer is gone, or the program comes from another node.
    package func play(to channel: any Channel, isForNode: Bool = false) async throws {
        defer {
            state.withLock { state in
                state.idleSince = MonotonicClock.now()
                if isForNode { state.nodes[ObjectIdentifier(channel)] = nil }
            }
        }
        if isForNode {
            let isHere = state.withLock { state in
                if !state.isElsewhere { state.nodes[ObjectIdentifier(channel)] = channel }
                return !state.isElsewhere
            }
            guard isHere else { throw ChannelError.ioOnClosedChannel }
        }
        let group = group(on: channel.eventLoop)
        try await channel.eventLoop.flatSubmit {
            do {
                guard let group = group.value else { throw ChannelError.ioOnClosedChannel }
                // Data that the kernel holds back adds to the delay and cannot be skipped.
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
