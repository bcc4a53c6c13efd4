import EncodedMedia
import Foundation
import LayoutEngine
import Logging
import MediaFormats
import MixModel
import ProgramSplicer

/// The owner of one program: pulls its sources, splices them, and feeds its outputs. Never decodes video.
///
/// Every event arrives as a `RelayInput`, and `run()` handles one at a time, so that nothing about a program needs a
/// lock. Pure types (`ProgramDirector`, `Splicer`) make the decisions; the relay performs them.
public actor Relay {
    public struct Configuration: Sendable {
        public var task: TaskID
        /// Path of the unix socket on which the relay listens, at most 100 bytes.
        public var socketPath: String
        /// Time for which the program stays on air without an orchestrator, in seconds.
        public var orphanTimeout: Double
        /// The `mixworker` binary, for mixers.
        public var worker: URL
        /// Whether a mixer's process waits beside a bypass that others may join, as long as the machine has memory to
        /// spare.
        public var keepsMixerReady: Bool

        public init(
            task: TaskID, socketPath: String, orphanTimeout: Double, worker: URL, keepsMixerReady: Bool = true
        ) {
            self.task = task
            self.socketPath = socketPath
            self.orphanTimeout = orphanTimeout
            self.worker = worker
            self.keepsMixerReady = keepsMixerReady
        }
    }

    /// Shortest time for which a source that left the plan is still pulled.
    static let farewell = MediaTime.milliseconds(300)
    /// Bytes of a source that may wait for the relay. A server's cached group of pictures comes at once.
    static let pullLimit = 64 << 20
    private static let tooMuch = "it sends faster than can be processed: \(pullLimit >> 20) MiB are pending"

    let configuration: Configuration
    let logger: Logger
    let inputs: AsyncStream<RelayInput>
    let inbox: AsyncStream<RelayInput>.Continuation
    let ticker: Ticker
    /// Reports of recorders and the packager that wait. Each one contains what the earlier ones said, so that some may
    /// be left out.
    let news = Backlog(limit: 64 << 10)
    /// CLOCK_MONOTONIC at program time 0, in ns.
    let programStart = MonotonicClock.now()
    let director = ProgramDirector()

    var plan: ProgramPlan?
    var planAppliedAt = MediaTime.zero
    var sources: [SourceID: PulledSource] = [:]
    var splicer = Splicer()
    var program = FLVProgram()
    /// Schedule of the SEI messages that players get inside the picture.
    var messages = SEISchedule()
    /// Video configuration on air: the codec, and the size of the length before each NAL unit.
    var pictures: VideoConfiguration?
    var outputs: [OutputID: RTMPOutput] = [:]
    var hls: HLSOutput?
    var recordings: [RecordingSlot.Key: RecordingSlot] = [:]
    /// Recordings whose files are being closed.
    var closingRecordings: [RecordingSlot.Key: RecordingSlot] = [:]
    var recordingCount = 0
    var connections: [Int: Connection] = [:]
    var connectionCount = 0

    var mixer: MixerSlot?
    /// A mixer that goes off air when the next one takes over.
    var outgoingMixer: MixerSlot?
    /// A mixer's process without work, so that the next mix does not wait for its start.
    var spareMixer: MixerSlot?
    var sparePolicy = SparePolicy()
    /// Whether the newest plan of a mix leaves out frames, because the machine is overloaded.
    var isMixCheaper = false
    var memory = MachineMemory()
    var mixerGeneration = 0
    var mixerFailures = 0
    var mixerRetryAt = MediaTime.zero
    /// Reason why there is no mixer although one is needed.
    var mixerError: String?
    /// Reasons that were reported since a mixer was last healthy.
    var toldMixerErrors: Set<String> = []
    /// The scene that the mixer shows, which differs from the plan's own while that one waits for a source.
    var sceneOnAir: Scene?
    /// Program time until which the mix on air may be fading out a participant's sound.
    var fadesUntil = MediaTime.zero

    var lastStatusAt = MediaTime.zero
    /// Absent sources, as reported last.
    private var absentSources: Set<SourceID> = []
    var orphanSince: MediaTime?
    var isDraining = false
    /// Closing work that takes time. `run()` owns the tasks that do it.
    var endings: [@Sendable () async -> Void] = []

    public init(_ configuration: Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        (inputs, inbox) = AsyncStream.makeStream()
        ticker = Ticker { [inbox] in inbox.yield(.tick) }
    }

    /// Serves until it is drained, terminated, or without an orchestrator for too long. Every output is closed when it
    /// returns.
    ///
    /// - Throws: `UnixListener.Failure`, if it cannot listen on its socket.
    public func run() async throws {
        let listener = try UnixListener(path: configuration.socketPath) { [inbox] descriptor in
            inbox.yield(.connected(descriptor: descriptor))
        }
        ticker.start()
        orphanSince = .zero
        await withDiscardingTaskGroup { group in
            for await input in inputs {
                handle(input)
                for end in endings { group.addTask { await end() } }
                endings = []
                if isDraining { break }
            }
            ticker.stop()
            listener.close()
            endAll()
            for end in endings { group.addTask { await end() } }
        }
    }

    /// Asks `run()` to end. Safe to call from any thread.
    public nonisolated func terminate() { inbox.yield(.terminate) }

    /// Current program time.
    var now: MediaTime { MediaTime(nanoseconds: MonotonicClock.now() - programStart) }

    private func handle(_ input: RelayInput) {
        switch input {
        case .connected(let descriptor): accept(descriptor)
        case .received(let connection, let bytes): received(bytes, on: connection)
        case .disconnected(let connection): disconnected(connection)
        case .pulled(let source, let attempt, let bytes, let arrival):
            guard sources[source]?.attempt == attempt else { return }
            sources[source]?.backlog?.remove(bytes.count)
            pulled(bytes, of: source, arrival: MediaTime(nanoseconds: arrival - programStart))
        case .pullEnded(let source, let attempt, let reason):
            guard sources[source]?.attempt == attempt else { return }
            logger.debug("source \(source) ended: \(reason)")
            sources[source]?.ended(reason: reason, now: now)
            disconnect(source)
            tellNews(of: source)
            reconsider()
        case .mixer(let generation, let event): mixerEvent(event, generation: generation)
        case .hlsChanged:
            news.remove(0)
            reportStatus()
        case .recorder(let key, let event): recorderEvent(event, of: key)
        case .outputChanged: reportStatus()
        case .tick: tick()
        case .terminate: isDraining = true
        }
    }

    /// Passes a source's packets to the splicer first and then to the mixer, because a splice decided on a packet must
    /// reach the mixer before the packet does.
    private func pulled(_ bytes: [UInt8], of id: SourceID, arrival: MediaTime) {
        let isNew = sources[id]?.firstKeyframeAt == nil
        guard let items = sources[id]?.read(bytes, now: arrival) else { return }
        if isNew, sources[id]?.firstKeyframeAt != nil { logger.info("source \(id): first keyframe at \(arrival)") }
        if sources[id]?.retryAt != nil {
            disconnect(id)
            tellNews(of: id)
            // Media from before its unsupported track was noticed must not be shown.
            if sources[id]?.status(now: now).state == .failed {
                removeFromMixers(id)
            }
        }
        let feed = Feed.source(id)
        let host = hostID.flatMap { $0 == id ? nil : sources[$0] }
        let reference = host?.timeline.clock.leastLateness ?? .zero
        for item in items {
            let isCopied = splicer.onAir == feed
            let isMixed = splicer.onAir?.isMixer ?? false && mixer?.scene?.uses(id) ?? false
            let events = sources[id]?.timeline.accept(
                item, arrival: arrival, isOnAir: isCopied || isMixed, isCopied: isCopied, reference: reference)
            for event in events ?? [] {
                switch event {
                case .configuration(let configuration):
                    logger.debug("source \(id): \(configuration.track) configured at \(arrival)")
                    // A layout may depend on the shape of the pictures.
                    if configuration.track == .video { reportStatus() }
                    splicer.configure(feed, configuration)
                    for slot in mixers { slot.configure(id, configuration) }
                    sendToRecorders(configuration, of: id)
                case .moved(let amount):
                    splicer.move(feed, by: amount)
                    tellRecorders(of: id, movedBy: amount)
                case .discontinuity:
                    logger.notice("source \(id): its timestamps jumped and were remapped")
                    tellRecorders(of: id, movedBy: nil)
                case .frame(let frame):
                    if frame.track == .video, let interval = sources[id]?.timeline.frameInterval {
                        splicer.setInterval(interval, of: feed)
                    }
                    // Before the splicer, because a splice may move the source's timeline.
                    sendToRecorders(frame, of: id)
                    perform(splicer.frame(frame, of: feed, now: arrival))
                    for slot in mixers { slot.send(frame, of: id) }
                }
            }
        }
        if splicer.onAir != feed || splicer.target != feed { reconsider() }
    }

    /// The mixers that show a scene, including the one on its way out.
    private var mixers: [MixerSlot] { [mixer, outgoingMixer].compactMap(\.self) }

    func removeFromMixers(_ id: SourceID) {
        mixer?.remove(id)
        outgoingMixer?.remove(id)
    }

    private func tick() {
        let now = now
        for id in Array(sources.keys) {
            tellNews(of: id)
            if sources[id]?.isDue(now: now) ?? false { connect(id) }
            if splicer.onAir == .source(id), sources[id]?.isSilent(now: now) ?? true {
                perform(splicer.ended(.source(id), now: now))
            }
        }
        perform(splicer.advance(to: now))
        hls?.tick()
        reconsider()
        removeIdleSources()
        tickRecordings()
        let absent = Set(sources.filter { $0.value.isAbsent(now: now) }.keys)
        if now - lastStatusAt > .seconds(1) || absent != absentSources { reportStatus() }
        absentSources = absent
        if let orphanSince, now - orphanSince > .seconds(configuration.orphanTimeout) {
            logger.warning("no orchestrator for \(configuration.orphanTimeout) s: the program ends")
            isDraining = true
        }
    }

    func connect(_ id: SourceID) {
        disconnect(id)
        guard let source = sources[id] else { return }
        let attempt = source.attempt
        let backlog = Backlog(limit: Relay.pullLimit)
        let pull = Pulls.open(source.planned.url, reach: plan?.sourceReach) { [inbox] event in
            switch event {
            case .bytes(let bytes, let arrival):
                switch backlog.add(bytes.count) {
                case .taken: inbox.yield(.pulled(id, attempt: attempt, bytes: bytes, arrival: arrival))
                case .exceeded: inbox.yield(.pullEnded(id, attempt: attempt, reason: Relay.tooMuch))
                case .over: break
                }
            case .ended(let reason):
                inbox.yield(.pullEnded(id, attempt: attempt, reason: reason))
            }
        }
        sources[id]?.connected(pull, now: now)
        sources[id]?.backlog = backlog
    }

    /// Reports a source's failure once, not at every attempt. The status always has it.
    private func tellNews(of id: SourceID) {
        guard let news = sources[id]?.news(now: now) else { return }
        note(code: news.code, news.message)
        reportStatus()
    }

    func disconnect(_ id: SourceID) {
        if let pull = sources[id]?.disconnect() { endings.append { await pull.close() } }
    }

    /// Removes sources that left the plan once they are off air (make before break), and a little later still, so that
    /// a mixer can fade out their sound.
    private func removeIdleSources() {
        let now = now
        for (id, source) in sources {
            guard let removedAt = source.removedAt, now - removedAt > Relay.farewell else { continue }
            guard !splicer.needs(.source(id)) || source.isSilent(now: now) else { continue }
            disconnect(id)
            sources[id] = nil
            perform(splicer.remove(.source(id), now: now))
            removeFromMixers(id)
        }
    }

    private func endAll() {
        logger.info("the program ends")
        for id in sources.keys { disconnect(id) }
        for slot in [mixer, outgoingMixer, spareMixer].compactMap({ $0 }) {
            endings.append { await slot.process.end() }
        }
        for connection in connections.values { connection.channel.finish() }
        for output in outputs.values { endings.append { await output.close() } }
        if let hls { endings.append { await hls.close() } }
        endRecordings()
    }
}

extension Scene {
    /// Whether viewers see or hear the source.
    func uses(_ source: SourceID) -> Bool {
        panes.contains { $0.source == source.rawValue } || sound.levels.contains { $0.source == source.rawValue }
    }

    /// Whether a participant's sound is in this scene and not in the other.
    func isHeardLess(in other: Scene) -> Bool {
        let remaining = Set(other.sound.levels.map(\.source))
        return sound.levels.contains { !remaining.contains($0.source) }
    }

    /// Returns a scene with one participant of this scene alone, over the whole canvas, like a bypass of theirs. All
    /// sources stay audible. Returns `nil` if the participant is not visible in this scene.
    func opening(with source: SourceID) -> Scene? {
        guard var pane = panes.first(where: { $0.source == source.rawValue && $0.isLive }) else { return nil }
        (pane.x, pane.y, pane.width, pane.height) = (0, 0, canvas.width, canvas.height)
        pane.fit = .cover
        pane.opacity = .whole
        pane.border = nil
        pane.label = nil
        return Scene(canvas: canvas, background: background, panes: [pane], sound: sound)
    }
}
