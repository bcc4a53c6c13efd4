import EncodedMedia
import Foundation
import LayoutEngine
import Logging
import MediaFormats
import MixModel
import ProgramSplicer
import RTMP
import TextFormats

/// The owner of one program: pulls its sources, splices them, and feeds its outputs. Never decodes video.
///
/// Every event arrives as a `RelayInput` and is handled on the socket loop, one at a time, so no state of a program
/// needs a lock. Pure types (`ProgramDirector`, `Splicer`) make the decisions; the relay performs them.
///
/// Nothing here may block or compute for long, because that would delay every socket of the process.
public actor Relay {
    /// Shortest time for which a source that left the plan is still pulled.
    static let farewell = MediaTime.milliseconds(300)
    /// Lateness of a tick above which the process, or the machine, stood still.
    private static let standstill = MediaTime.milliseconds(150)

    let configuration: Configuration
    let logger: Logger
    let loop = SocketLoop.shared
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let tickDeadline = LoopDeadline()
    private var ticks = TickSchedule()
    /// Deadline of the source on air, which every packet postpones.
    private let stallDeadline = LoopDeadline()
    /// Times to which both deadlines are set; `nil` means none.
    private var tickAt: MediaTime?
    private var stallAt: MediaTime?
    private var listener: UnixListener?
    /// Inputs that arrived before the relay runs or while another one is being handled.
    private var waiting: [RelayInput] = []
    private var isHandling = false
    private var phase = Phase.idle
    /// Waiting reports of outputs.
    let news = Backlog(limit: 64 << 10)
    /// Decodes commands and encodes reports, which takes too long for the loop.
    let documents = DispatchQueue(label: "relay.documents")
    /// Reports that wait to be encoded.
    let reports = Backlog(limit: 64 << 10)
    /// CLOCK_MONOTONIC at program time 0, in ns.
    let programStart = MonotonicClock.now()
    let director = ProgramDirector()
    let shares: CPUShares
    /// This relay's share of the process's CPU time; `nil` while it does not run.
    private(set) var share: CPUShares.Share?

    var plan: ProgramPlan?
    var planAppliedAt = MediaTime.zero
    var sources: [SourceID: PulledSource] = [:]
    /// Tracks which sources may have crashed the previous relay.
    var quarantine = SourceQuarantine()
    let pullRecord: PullRecord
    var splicer = Splicer()
    var program = FLVProgram()
    var anchors = AnchorSchedule()
    /// The stream's place on the clock when it was last recorded.
    var place: ProgramPlace?
    /// Schedule of the SEI messages for players.
    var messages = SEISchedule()
    /// The layout on air, for viewers.
    var viewerLayout = ViewerLayout()
    /// The publishers of the sources, for players.
    var people: [SourceID: SEILayout.Person] = [:]
    /// Video configuration on air: the codec, and the size of the length before each NAL unit.
    var pictures: VideoConfiguration?
    /// Holds the program back while another relay sends it.
    var standby = ProgramStandby()
    /// The remaining work until the relay stands by.
    var silencing = Silencing.none
    /// Time until which the relay may send, in ns of CLOCK_BOOTTIME.
    var sendsUntil = Int64.max
    var outputs: [PlannedOutput.Key: any ProgramOutput] = [:]
    var connections: [Int: Connection] = [:]
    var connectionCount = 0

    var mixer: MixerSlot?
    /// A mixer that goes off air when the next one takes over.
    var outgoingMixer: MixerSlot?
    /// A spare mixer process, so that the next mix does not wait for its start.
    var spareMixer: MixerSlot?
    /// A mixer that renders the same as the one on air, and takes over when that one fails.
    var twin = MixerTwin()
    var sparePolicy: SparePolicy
    var slate = RepeatedSlate()
    /// The playback while no participant can be shown.
    var idle = IdlePlayback()
    /// Whether the newest plan of a mix skips frames, because the machine is overloaded.
    var isMixCheaper = false
    var memory = SpareMemory()
    var mixerGeneration = 0
    var recovery = MixerRecovery()
    /// Reason why there is no mixer although one is needed.
    var mixerError: String?
    /// Reasons that were reported since a mixer was last healthy.
    var reportedMixerErrors: Set<String> = []
    /// The facts on which the last decision was based.
    var basis = DecisionBasis()
    /// The scene that the mixer shows, which differs from the plan's scene while that one waits for a source.
    var sceneOnAir: Scene?
    /// Program time until which the mix on air may be fading out a participant's audio.
    var fadesUntil = MediaTime.zero

    var noteLimit = NoteLimit()
    let examiner = PictureExaminer()
    var keyframeWait = KeyframeWait()
    /// Requests of viewers.
    var keyframeRequests = KeyframeRequests()
    /// Audio configuration of the program for which the lack of audio in HLS was reported.
    var reportedUnfitSound: CodecConfiguration?
    var lastStatusAt = MediaTime.zero
    /// Absent and live sources, as last reported.
    private var reported: (absent: Set<SourceID>, live: Set<SourceID>) = ([], [])
    var orphanSince: MediaTime?
    var isDraining = false
    /// Closing work that takes time. `run()` owns the tasks that do it.
    var endings: [@Sendable () async -> Void] = []
    /// Passes `endings` to `run()`.
    private let closings: AsyncStream<@Sendable () async -> Void>
    private let closing: AsyncStream<@Sendable () async -> Void>.Continuation

    private enum Phase {
        case idle, running, over
    }

    public init(_ configuration: Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        shares = configuration.shares ?? CPUShares()
        sparePolicy = SparePolicy(isStartInstant: configuration.forkServer != nil)
        pullRecord = PullRecord(path: configuration.pullFile, queue: documents)
        (closings, closing) = AsyncStream.makeStream()
    }

    /// Runs until the relay is drained, terminated, or without an orchestrator for too long. All outputs are closed
    /// when it returns.
    ///
    /// - Throws: `UnixListener.Failure` if the relay cannot listen on its socket.
    public func run() async throws {
        listener = try UnixListener(path: configuration.socketPath) { [weak self] descriptor in
            self?.post(.connected(descriptor: descriptor))
        }
        share = shares.join(process: ProcessClock.own)
        takeUpQuarantine()
        if configuration.shares != nil { configuration.processFile.write() }
        continueProgram()
        orphanSince = .zero
        tickDeadline.begin { [weak self] in self?.post(.tick) }
        stallDeadline.begin { [weak self] in self?.post(.tick) }
        scheduleTick(now: now, isCalm: false)
        phase = .running
        handleWaiting()
        await withDiscardingTaskGroup { group in
            for await end in closings { group.addTask { await end() } }
            // Not yet, if the task was cancelled.
            conclude()
            for end in endings { group.addTask { await end() } }
            endings = []
        }
        // Their clients learn of the end even if the process goes on with other relays.
        for connection in connections.values { connection.channel.endWriting() }
        connections = [:]
        // Nothing remains that could send.
        loop.fallSilent(at: nil, for: ObjectIdentifier(self))
    }

    /// Asks `run()` to end. Safe to call from any thread.
    public nonisolated func terminate() { post(.terminate) }

    /// Handles an input: at once on the loop, unless another one is being handled, and soon from any other thread.
    /// Inputs of one sender are handled in order.
    nonisolated func post(_ input: RelayInput) {
        if loop.isCurrent {
            assumeIsolated { $0.take(input) }
        } else {
            loop.perform { self.assumeIsolated { $0.take(input) } }
        }
    }

    private func take(_ input: RelayInput) {
        waiting.append(input)
        if phase == .running, !isHandling { handleWaiting() }
    }

    private func handleWaiting() {
        isHandling = true
        var next = 0
        while next < waiting.count, phase == .running {
            handle(waiting[next])
            next += 1
            for end in endings { closing.yield(end) }
            endings = []
            if isDraining { conclude() }
        }
        waiting.removeAll(keepingCapacity: true)
        isHandling = false
    }

    /// Ends everything, once. Inputs are no longer handled.
    private func conclude() {
        guard phase == .running else { return }
        phase = .over
        tickDeadline.end()
        stallDeadline.end()
        loop.setCalm(true, for: ObjectIdentifier(self))
        // The process must not be killed during the remaining work.
        if configuration.shares != nil { configuration.processFile.remove() }
        listener?.close()
        pullRecord.remove()
        if let share { shares.leave(share, process: ProcessClock.own) }
        endAll()
        closing.finish()
    }

    /// Current program time.
    var now: MediaTime { MediaTime(nanoseconds: MonotonicClock.now() - programStart) }

    private func handle(_ input: RelayInput) {
        share?.handled += 1
        // Before anything is judged: the loop reads its sockets before it looks at deadlines.
        excuseStandstill(now: now)
        switch input {
        case .connected(let descriptor): accept(descriptor)
        case .commands(let connection, let lines, let size): received(lines, size: size, on: connection)
        case .disconnected(let connection): disconnected(connection)
        case .pulled(let source, let attempt, let items, let size, let arrival):
            guard let pulling = sources[source] else { return }
            if let probe = pulling.probe, probe.attempt == attempt {
                return probed(
                    items, of: source, pulling, size: size, now: MediaTime(nanoseconds: arrival - programStart))
            }
            guard pulling.attempt == attempt else { return }
            pulling.backlog?.remove(size)
            pulled(items, of: source, pulling, arrival: MediaTime(nanoseconds: arrival - programStart))
            if ticks.isDueWithPacket(at: now) { tick() }
        case .pullEnded(let source, let attempt, let end):
            if let pulling = sources[source], pulling.probe?.attempt == attempt { return endProbe(of: pulling) }
            guard sources[source]?.attempt == attempt else { return }
            pullEnded(end, of: source)
        case .mixer(let generation, let event): mixerEvent(event, generation: generation)
        case .output(let report): outputReported(report)
        case .silenced: silenced()
        case .examined(let generation, let answer): examined(answer, generation: generation)
        case .tick: tick()
        case .terminate: isDraining = true
        }
    }

    private func tick() {
        let now = now
        ticks.reached()
        for (id, source) in sources {
            tellNews(of: id)
            if source.isDue(now: now) { connect(id) }
            watchQuality(of: id, source, now: now)
            if splicer.onAir == .source(id), source.hasStalled(now: now) {
                perform(splicer.ended(.source(id), now: now))
            }
        }
        examinePictures(now: now)
        sendSlate(now: now)
        perform(splicer.advance(to: now))
        if standby.advance(to: now) { beginSilence() }
        endForgottenStandby()
        keepKeyframesComing(now: now)
        passKeyframeRequest(now: now)
        reconsider()
        watchForStall(now: now)
        removeIdleSources()
        quarantine.advance(to: now)
        pullRecord.write(quarantine.records)
        tellWaiting(now: now)
        tellUnfitSound()
        tickOutputs()
        let absent = Set(sources.filter { $0.value.isAbsent(now: now) }.keys)
        // Operators and layouts learn of a stall, and of its end, at once and not with the next report.
        let live = Set(sources.filter { $0.value.state(now: now) == .live }.keys)
        if now - lastStatusAt >= TickSchedule.status - TickSchedule.early || (absent, live) != reported {
            reportStatus()
        }
        reported = (absent, live)
        if let orphanSince, now - orphanSince > .seconds(configuration.orphanTimeout) {
            logger.warning("no orchestrator for \(configuration.orphanTimeout) s: the program ends")
            isDraining = true
        }
        scheduleTick(now: now, isCalm: isCalm(now: now))
    }

    /// Sets the time at which the source on air is suspect or stalled if nothing more arrives.
    func watchForStall(now: MediaTime) {
        watchForStall(of: splicer.onAir.flatMap(source(of:)).flatMap { sources[$0] }, now: now)
    }

    /// - Parameter source: The source on air; `nil` if there is none.
    func watchForStall(of source: PulledSource?, now: MediaTime) {
        stallAt = source?.nextStall(after: now)
        stallDeadline.set(stallAt.map { programStart + $0.nanoseconds } ?? .max)
    }

    /// Does not count it against sources and mixers if this process stood still: their media may wait in its sockets,
    /// and a suspended machine has suspended them, too.
    private func excuseStandstill(now: MediaTime) {
        let due = min(tickAt ?? now, stallAt ?? now)
        guard now - due > Self.standstill else { return }
        // Once for each standstill: what was due follows at once.
        tickAt = tickAt.map { max($0, now) }
        stallAt = stallAt.map { max($0, now) }
        for source in sources.values { source.excuse(now - due, now: now) }
        mixer?.excuse(now - due, now: now)
        outgoingMixer?.excuse(now - due, now: now)
        twin.slot?.excuse(now - due, now: now)
        recovery.excuse(now - due, at: now)
    }

    /// Sets the time of the next tick.
    func scheduleTick(now: MediaTime, isCalm: Bool) {
        loop.setCalm(isCalm, for: ObjectIdentifier(self))
        let calmUntil = isCalm ? nextDue(now: now) : nil
        let next = ticks.next(
            now: now, calmUntil: calmUntil,
            deadlines: [
                fadesUntil, recovery.retryAt, twin.retryAt, slate.group?.nextPicture ?? .zero,
                keyframeRequests.due ?? .zero,
            ])
        // Overdue work is no standstill.
        tickAt = max(next, now)
        tickDeadline.set(programStart + next.nanoseconds)
    }

    /// Returns the time of the next due work in a calm bypass if nothing else happens.
    private func nextDue(now: MediaTime) -> MediaTime {
        var due = lastStatusAt + TickSchedule.status
        if let request = keyframeRequests.due { due = min(due, request) }
        if outputs.values.contains(where: \.needsTicks) { due = min(due, now + TickSchedule.outputs) }
        if let orphanSince { due = min(due, orphanSince + .seconds(configuration.orphanTimeout)) }
        // The stall of the source on air has a deadline of its own, which comes before its silence.
        let watched = stallAt ?? .zero > now ? splicer.onAir : nil
        for (id, source) in sources where watched != .source(id) {
            if let silentAt = source.silentAt(now: now) { due = min(due, silentAt) }
        }
        return max(due, now + .milliseconds(1))
    }
}
