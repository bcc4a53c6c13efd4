import EncodedMedia
import Foundation
import MixModel
import NIOCore
import NIOPosix
import Synchronization

@testable import MixOrchestrator
@testable import RoomService

/// Relays in this process that speak the protocol on real unix sockets and do what the test asks.
final class ScriptedRelays: RelayStarting {
    private let relays = Mutex<[ScriptedRelay]>([])
    /// The errors of the next starts, in order.
    private let failures = Mutex<[String]>([])
    private let opening = Mutex<[UInt8]?>(nil)
    private let keepsHistory: Bool

    /// - Parameter keepsHistory: Whether ended relays and earlier plans and commands remain available.
    init(keepsHistory: Bool = true) { self.keepsHistory = keepsHistory }

    func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        let failure = failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let failure { throw .notStarted(failure) }
        let number = started.last.map { $0.processID - 89_999_999 } ?? 0
        let relay = ScriptedRelay(
            task: task, socket: socket, processID: 90_000_000 + number, keepsHistory: keepsHistory)
        if let opening = opening.withLock({ $0 }) { relay.setOpening(opening) }
        relay.listen()
        relays.withLock { relays in
            if !keepsHistory { relays.removeAll { $0.exitDescription() != nil } }
            relays.append(relay)
        }
        return relay
    }

    func killLeftover(socket: String) {}

    func failNextStarts(_ messages: [String]) { failures.withLock { $0 = messages } }

    /// Sets the first bytes that viewers get from relays that start from now on.
    func setOpening(_ bytes: [UInt8]) { opening.withLock { $0 = bytes } }

    /// All relays ever started, oldest first; without history, only the running ones.
    var started: [ScriptedRelay] { relays.withLock { $0 } }
    var running: [ScriptedRelay] { started.filter { $0.exitDescription() == nil } }

    /// Closes the sockets that a test left open.
    func tearDown() { for relay in running { relay.kill() } }
}

final class ScriptedRelay: RelayProcessHandle {
    let task: TaskID
    let socket: String
    let processID: Int32

    private struct State {
        var server: (any Channel)?
        var connections: [any Channel] = []
        var viewers: [any Channel] = []
        var commands: [RelayCommand] = []
        var plans: [(plan: ProgramPlan, at: Int64)] = []
        var exit: String?
        var absent: Set<SourceID> = []
        var opening = ScriptedProgram.opening()
        var recordings: [RecordingStatus] = []
        var hls: HLSStatus?
        var outputs: [OutputID: DestinationStatus] = [:]
        var previews: [SourceID?: [UInt8]] = [:]
        var place: ProgramPlace?
        /// Whether it sends nothing, and the connection that asked for that.
        var isSilent = false
        var silencer: ObjectIdentifier?
        var ignoresStandBy = false
    }
    private let state = Mutex(State())
    private let keepsHistory: Bool

    init(task: TaskID, socket: String, processID: Int32, keepsHistory: Bool = true) {
        self.keepsHistory = keepsHistory
        self.task = task
        self.socket = socket
        self.processID = processID
    }

    /// All received plans, each with its time (ns of CLOCK_MONOTONIC).
    var plans: [(plan: ProgramPlan, at: Int64)] { state.withLock { $0.plans } }
    var plan: ProgramPlan? { plans.last?.plan }
    var commands: [RelayCommand] { state.withLock { $0.commands } }
    var viewerCount: Int { state.withLock { $0.viewers.count } }

    /// Sets the sources that it reports as absent, with the next status within a second.
    func setAbsent(_ sources: Set<SourceID>) { state.withLock { $0.absent = sources } }

    /// Sets the recordings that it reports.
    func setRecordings(_ recordings: [RecordingStatus]) {
        state.withLock { $0.recordings = recordings }
        report(.status(status))
    }

    /// Sets the HLS status that it reports; `nil` means none.
    func setHLS(_ status: HLSStatus?) {
        state.withLock { $0.hls = status }
        report(.status(self.status))
    }

    /// Whether it sends nothing.
    var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Makes it ignore requests to stop from now on.
    func ignoreStandBy() { state.withLock { $0.ignoresStandBy = true } }

    /// Sets the position of its stream on the clock, and reports it.
    func setPlace(_ place: ProgramPlace) {
        state.withLock { $0.place = place }
        report(.status(status))
    }

    /// Sets the status of an output, instead of live, until an attempt is requested.
    func setOutput(_ status: DestinationStatus) {
        state.withLock { $0.outputs[status.id] = status }
        report(.status(self.status))
    }

    func exitDescription() -> String? { state.withLock { $0.exit } }
    func signal(_ number: Int32) { end("was killed by signal \(number)") }
    /// Ends the relay as `kill -9` does.
    func kill() { signal(SIGKILL) }

    func listen() {
        ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RelayHandler(relay: self))
                }
            }
            .bind(unixDomainSocketPath: socket)
            .whenSuccess { server in
                let isOver = self.state.withLock { state in
                    state.server = server
                    return state.exit != nil
                }
                if isOver { server.close(promise: nil) }
            }
    }

    /// Sets the preview of a source, or of the program.
    func setPreview(_ bytes: [UInt8], of source: SourceID?) { state.withLock { $0.previews[source] = bytes } }

    /// Sets the first bytes that viewers get.
    func setOpening(_ bytes: [UInt8]) { state.withLock { $0.opening = bytes } }

    /// Sends a report on every control connection.
    func report(_ report: RelayReport) {
        for channel in state.withLock({ $0.connections }) { Self.send(report, on: channel) }
    }

    func sendToViewers(_ bytes: [UInt8]) {
        for channel in state.withLock({ $0.viewers }) {
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        }
    }

    /// Breaks the connections; the relay continues.
    func dropViewers() {
        for channel in state.withLock({ $0.viewers }) { channel.close(promise: nil) }
    }

    /// Drops the control connections; the relay continues.
    func dropConnections() {
        for channel in state.withLock({ $0.connections }) { channel.close(promise: nil) }
    }

    fileprivate func receive(_ command: RelayCommand, on channel: any Channel) {
        state.withLock { state in
            if case .retryOutput(let output) = command { state.outputs[output] = nil }
            if !keepsHistory { state.commands = [] }
            state.commands.append(command)
        }
        switch command {
        case .hello:
            state.withLock { $0.connections.append(channel) }
            Self.send(.status(status), on: channel)
            channel.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
                guard channel.isActive else { return task.cancel() }
                Self.send(.status(self.status), on: channel)
            }
        case .apply(let plan):
            let now = MonotonicClock.now()
            let before = status.onAir
            state.withLock { state in
                guard plan.revision > state.plans.last?.plan.revision ?? 0 else { return }
                if !keepsHistory { state.plans = [] }
                state.plans.append((plan, now))
            }
            state.withLock { if $0.silencer != ObjectIdentifier(channel) { $0.isSilent = false } }
            Self.send(.status(status), on: channel)
            if let after = status.onAir, after != before {
                let record = SwitchRecord(
                    at: .seconds(1), from: before, to: after, source: nil, cause: plan.cause, causes: plan.causes,
                    latencyMs: Double(now - plan.causedAt) / 1e6, videoGapMs: 50, audioGapMs: 21.3, wallClock: 1)
                Self.send(.switched(record), on: channel)
            }
        case .retryOutput: Self.send(.status(status), on: channel)
        case .drain:
            unlink(socket)
            end("exited with status 0")
        case .requestKeyframe, .hold: break
        case .resume:
            state.withLock { state in
                (state.isSilent, state.silencer) = (false, nil)
                state.place?.last = nil
            }
            Self.send(.status(status), on: channel)
        case .standBy:
            state.withLock { state in
                guard !state.ignoresStandBy else { return }
                (state.isSilent, state.silencer) = (true, ObjectIdentifier(channel))
                let noted = state.place?.noted
                state.place?.last = noted
            }
            Self.send(.status(status), on: channel)
        case .preview(let source, let hasPicture):
            let bytes = state.withLock { $0.previews[source] ?? [] }
            let answer = bytes.isEmpty ? [] : [hasPicture ? 1 : 0] + bytes
            channel.writeAndFlush(ByteBuffer(bytes: PreviewWire.bytes(of: answer.count) + answer), promise: nil)
        case .viewFLV:
            let opening = state.withLock { state in
                state.viewers.append(channel)
                return state.opening
            }
            channel.writeAndFlush(ByteBuffer(bytes: opening), promise: nil)
        }
    }

    fileprivate func closed(_ channel: any Channel) {
        state.withLock { state in
            state.connections.removeAll { $0 === channel }
            state.viewers.removeAll { $0 === channel }
        }
    }

    private var status: RelayStatus {
        let plan = plan
        let (absent, outputs) = state.withLock { ($0.absent, $0.outputs) }
        let destinations = (plan?.outputs.destinations ?? []).map {
            outputs[$0.id] ?? DestinationStatus(id: $0.id, state: .live, connectedSince: 1_700_000_000, bytesSent: 4711)
        }
        let onAir: OnAir? =
            switch plan?.mode {
            case nil: nil
            case .bypass: .bypass
            case .mix: .mix
            case .slate: .slate
            }
        return RelayStatus(
            task: task, processID: processID, revision: plan?.revision ?? 0, onAir: onAir, bypassSource: nil,
            scene: onAir == .mix ? plan?.scene : nil,
            sources: plan?.sources.map { source in
                absent.contains(source.id)
                    ? SourceStatus(id: source.id, state: .recovering, error: "refused", isAbsent: true)
                    : SourceStatus(id: source.id, state: .live)
            } ?? [],
            outputs: [OutputStatus](destinations) + [OutputStatus](state.withLock { $0.recordings })
                + [OutputStatus](state.withLock { $0.hls.map { [$0] } ?? [] }),
            programTime: .seconds(1), place: state.withLock { $0.place },
            isSilent: state.withLock { $0.isSilent })
    }

    private func end(_ exit: String) {
        let (server, channels) = state.withLock { state in
            if state.exit == nil { state.exit = exit }
            return (state.server, state.connections + state.viewers)
        }
        server?.close(promise: nil)
        for channel in channels { channel.close(promise: nil) }
    }

    private static func send(_ report: RelayReport, on channel: any Channel) {
        guard var line = try? JSONEncoder().encode(report) else { return }
        line.append(UInt8(ascii: "\n"))
        channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
    }
}

private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let relay: ScriptedRelay
    private var lines = LineSplitter(limit: 1 << 20)

    init(relay: ScriptedRelay) { self.relay = relay }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        for line in (try? lines.append(buffer.readableBytesView)) ?? [] {
            guard let command = try? JSONDecoder().decode(RelayCommand.self, from: Data(line)) else { continue }
            relay.receive(command, on: context.channel)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { relay.closed(context.channel) }
}
