import EncodedMedia
import Foundation
import GStreamerKit
import Logging
import MediaFormats
import MixModel
import RTMP
import TextFormats

/// Performs what a `WhipMachine` decides: owns the publisher's connection, its stream and the way to the ingest.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there. What blocks runs on
/// a queue of its own.
final class WhipPublication: @unchecked Sendable {
    /// Time in ns between two looks at what has come, and between two reports of figures.
    private static let interval: Int64 = 50_000_000
    private static let figuresInterval: Int64 = 2_000_000_000
    /// Time in ns for finding candidates: those of the machine's own addresses are there at once, those that servers name
    /// take a round trip or more. The answer waits for them, because nothing can follow it.
    private static let gathering: Int64 = 250_000_000
    private static let gatheringWithServers: Int64 = 1_000_000_000
    /// Time in ns after which a machine without any candidate has no address.
    private static let patience: Int64 = 5_000_000_000
    /// Candidates that a client may add after its offer.
    private static let mostCandidates = 64

    private let loop = SocketLoop.shared
    private let queue = DispatchQueue(label: "whip")
    private let logger: Logger
    private let report: (WebRTCReport) -> Void
    private let onEnd: () -> Void

    private var machine = WhipMachine()
    private var stream = PublishedStream()
    private var opening: Task<Void, Never>?
    private var peer: WebRTCPeer?
    private var uplink: StreamUplink?
    private var gatherer: Gatherer?
    private var candidatesTaken = 0
    /// Candidates that came before there was an answer.
    private var earlyCandidates: [String] = []
    private let ticker = LoopDeadline()
    private var figuresAt: Int64 = 0
    private var countedBytes = 0
    private var countedAt: Int64 = 0

    /// The answer while its candidates are found.
    private struct Gatherer {
        let answer: WebRTCAnswer
        let section: Int
        /// Time in ns for finding candidates.
        let limit: Int64
        var made: String?
        var madeAt: Int64 = 0
        var candidates: [WebRTCAnswer.Candidate] = []
        var isDone = false
    }

    /// - Parameters:
    ///   - report: Sends a report to the service, if one is connected.
    ///   - onEnd: Called when nothing is left to do but `close()`.
    init(logger: Logger, report: @escaping (WebRTCReport) -> Void, onEnd: @escaping () -> Void) {
        self.logger = logger
        self.report = report
        self.onEnd = onEnd
        // While the offer is on its way: loading plug-ins takes some 0.3 s.
        queue.async { GStreamerRuntime.load(WebRTCReception.elements.map(\.name)) }
        ticker.begin { [weak self] in self?.tick() }
    }

    var isLive: Bool { machine.isLive }
    var hasPublisher: Bool { machine.hasPublisher }

    func publish(_ publisher: WebRTCPublisher) { perform(machine.publish(publisher)) }

    func end(_ reason: String) { perform(machine.end(reason)) }

    /// Adds candidates of the client. Those beyond the limit are left out.
    func addCandidates(_ fragment: String) {
        guard fragment.utf8.count <= WebRTCCommand.longestFragment else { return }
        let found = ICECandidate.all(in: fragment, limit: Self.mostCandidates - candidatesTaken)
        candidatesTaken += found.count
        for candidate in found.map(\.text) {
            if let peer, let gatherer, gatherer.made != nil {
                peer.addCandidate(candidate, section: gatherer.section)
            } else {
                earlyCandidates.append(candidate)
            }
        }
    }

    /// Unpublishes the stream and frees everything. Call from any thread, once.
    func close() async {
        let (uplink, opening) = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                ticker.end()
                continuation.resume(returning: (self.uplink, self.opening))
            }
        }
        await uplink?.close()
        await opening?.value
        let peer = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                defer { self.peer = nil }
                continuation.resume(returning: self.peer)
            }
        }
        await peer?.tearDown()
        // A process that ends while a plug-in is loaded crashes.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    // MARK: - Actions

    private func perform(_ actions: [WhipMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let publisher): open(publisher)
            case .report(let report):
                if case .ended(let reason) = report { logger.notice("the publication has ended: \(reason)") }
                self.report(report)
            case .dial: uplink?.dial()
            case .requestKeyframe: peer?.requestKeyframe()
            case .finish: onEnd()
            }
        }
    }

    private func open(_ publisher: WebRTCPublisher) {
        let offer: WebRTCOffer
        let publication: WebRTCOffer.Publication
        do throws(WebRTCOfferError) {
            offer = try WebRTCOffer(publisher.offer)
            publication = try offer.publication()
        } catch { return perform(machine.failed(error.reason)) }
        do throws(RTMPError) {
            uplink = StreamUplink(try RTMPAddress(publisher.target)) { [weak self] event in self?.take(event) }
        } catch { return perform(machine.failed("The stream has no valid target: \(error)")) }
        let hasServers = publisher.network.stun != nil || !publisher.network.turn.isEmpty
        gatherer = Gatherer(
            answer: WebRTCAnswer(
                to: offer, publication, network: publisher.network, startBitRate: publisher.startBitRate),
            section: offer.sections.firstIndex { $0.mid == offer.bundle.first } ?? 0,
            limit: hasServers ? Self.gatheringWithServers : Self.gathering)
        opening = Task { [weak self] in await self?.connect(publisher, offer, publication) }
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    /// Makes the pipeline and begins to negotiate.
    private func connect(
        _ publisher: WebRTCPublisher, _ offer: WebRTCOffer, _ publication: WebRTCOffer.Publication
    ) async {
        do {
            let peer = try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(with: Result { try makePeer(publisher.network) })
                }
            }
            do {
                try await peer.play()
                try WebRTCReception.addReceivers(to: peer, for: publication, of: offer)
            } catch {
                await peer.tearDown()
                throw error
            }
            loop.perform { [self] in
                self.peer = peer
                peer.answer(publisher.offer)
            }
        } catch {
            let words = "\(error)"
            loop.perform { [self] in perform(machine.failed("This machine cannot receive WebRTC: \(words)")) }
        }
    }

    /// Blocks.
    private func makePeer(_ network: WebRTCNetwork) throws(GStreamerError) -> WebRTCPeer {
        var paths = WebRTCPeer.Network()
        paths.addresses = network.addresses
        paths.ports = network.ports.flatMap { $0.lowest <= $0.highest ? $0.lowest...$0.highest : nil }
        paths.stun = network.stun
        paths.turn = network.turn
        let peer = try WebRTCPeer(WebRTCReception.description, network: paths, name: "whip") {
            [weak self, loop] event in
            loop.perform { [weak self] in self?.take(event) }
        }
        for (sink, track) in [(WebRTCReception.pictures, Track.video), (WebRTCReception.sound, Track.audio)] {
            try peer.pipeline.appSink(sink) { [weak self, loop] sample in
                guard let frame = WebRTCReception.frame(sample, track) else { return }
                loop.perform { [weak self] in self?.take(frame) }
            }
        }
        return peer
    }

    // MARK: - What happens

    private func take(_ event: WebRTCPeer.Event) {
        switch event {
        case .described(let text):
            gatherer?.made = text
            gatherer?.madeAt = MonotonicClock.now()
            for candidate in earlyCandidates { peer?.addCandidate(candidate, section: gatherer?.section ?? 0) }
            earlyCandidates = []
        case .candidate(let section, let text):
            guard let count = gatherer?.candidates.count, count < WebRTCAnswer.mostCandidates else { break }
            gatherer?.candidates.append(.init(section: section, text: text))
        case .gathered:
            gatherer?.isDone = true
            answer()
        case .connection(let state):
            perform(machine.connection(state, now: MonotonicClock.now()))
        case .failed(let reason): perform(machine.failed("The offer cannot be answered: \(reason)"))
        }
    }

    /// Answers if the candidates are there, or the time for them is over.
    private func answer() {
        guard !machine.isAnswered else { return }
        let now = MonotonicClock.now()
        guard let gatherer, let made = gatherer.made, !machine.isOver else { return }
        let time = now - gatherer.madeAt
        guard gatherer.isDone || time >= gatherer.limit else { return }
        if let text = gatherer.answer.text(of: made, gatherer.candidates) {
            perform(machine.answered(text, now: now))
        } else if gatherer.isDone || time >= Self.patience {
            perform(
                machine.failed("This machine has no address for WebRTC: see webrtc.addresses in the configuration."))
        }
    }

    private func take(_ frame: PublishedStream.Frame) {
        // The first ones may come before it is known that there is a connection.
        guard !machine.isOver else { return }
        if frame.track == .video { machine.tookPicture(isIDR: frame.isIDR, now: MonotonicClock.now()) }
        let tags = stream.take(frame)
        uplink?.send(tags)
    }

    private func take(_ event: StreamUplink.Event) {
        switch event {
        case .began:
            machine.uplinkBegan()
            uplink?.send(stream.open())
            if stream.needsKeyframe { machine.keyframeWanted() }
        case .keyframeWanted: machine.keyframeWanted()
        case .ended(let fault):
            stream.close()
            logger.warning("the ingest does not take the stream: \(fault.words)")
            perform(machine.uplinkEnded(fault, now: MonotonicClock.now()))
        }
        if event.wantsKeyframe { tick() }
    }

    private func tick() {
        guard !machine.isOver else { return }
        let now = MonotonicClock.now()
        ticker.set(now + Self.interval)
        answer()
        guard let peer else { return }
        if let failure = peer.pipeline.firstError {
            return perform(machine.failed("The media cannot be read: \(failure.message)"))
        }
        let audio = peer.traffic(of: .audio)
        let video = peer.traffic(of: .video)
        let last = [audio.last, video.last].compactMap { $0 }.max()
        perform(machine.tick(.init(last: last, lastVideo: video.last), now: now))
        guard machine.isLive, now >= figuresAt else { return }
        tell(packets: audio.packets + video.packets, bytes: audio.bytes + video.bytes, lost: peer.lostPackets, now)
    }

    private func tell(packets: Int, bytes: Int, lost: Int, _ now: Int64) {
        var figures = WebRTCFigures()
        figures.packets = packets
        figures.lost = lost
        let time = Double(max(now - countedAt, 1)) / 1e9
        figures.bitRate = countedAt == 0 ? 0 : Int(Double(bytes - countedBytes) * 8 / time)
        figures.keyframeRequests = machine.keyframeRequests
        (countedBytes, countedAt) = (bytes, now)
        figuresAt = now + Self.figuresInterval
        report(.figures(figures))
    }
}

extension StreamUplink.Event {
    fileprivate var wantsKeyframe: Bool {
        switch self {
        case .began, .keyframeWanted: true
        case .ended: false
        }
    }
}
