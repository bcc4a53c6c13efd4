import EncodedMedia
import Foundation
import GStreamerKit
import Logging
import MediaFormats
import MixModel
import RTMP
import TextFormats

/// Performs the decisions of a `WhipMachine`: owns the publisher's connection, its stream and the connection to the
/// ingest.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there. Blocking work
/// runs on its own queue.
package final class WhipPublication: StreamDuty, @unchecked Sendable {
    package static var elements: [(name: String, package: String)] { WebRTCReception.elements }

    /// Time in ns between two checks of arrivals, and between two reports of figures.
    private static let interval: Int64 = 50_000_000
    private static let figuresInterval: Int64 = 2_000_000_000

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
    private var description: LocalDescription?
    /// The session description of the answer; `nil` before there is one.
    private var sentAnswer: String?
    /// Section of the offer whose transport the bundle uses.
    private var section = 0
    private var remoteCandidates = RemoteCandidates()
    private let ticker = LoopDeadline()
    private var figuresAt: Int64 = 0
    private var countedBytes = 0
    private var countedAt: Int64 = 0

    package static func refusal(_ reason: String) -> WebRTCReport { .refused(reason: reason) }

    package init(logger: Logger, report: @escaping (WebRTCReport) -> Void, onEnd: @escaping () -> Void) {
        self.logger = logger
        self.report = report
        self.onEnd = onEnd
        // While the offer is in transit: loading plug-ins takes about 0.3 s.
        queue.async { GStreamerRuntime.load(Self.elements.map(\.name)) }
        ticker.begin { [weak self] in self?.tick() }
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    package var greeting: [WebRTCReport] {
        let hello = WebRTCReport.hello(version: WebRTCCommand.version, process: getpid())
        return machine.isLive ? [hello, .connected] : [hello]
    }

    package func obey(_ command: WebRTCCommand) {
        switch command {
        case .hello, .terminate: break
        case .publish(let publisher): perform(machine.publish(publisher))
        case .candidates(let fragment):
            // Candidates beyond the limit are ignored.
            for candidate in remoteCandidates.take(fragment) { peer?.addCandidate(candidate, section: section) }
        case .restart(let fragment): restart(fragment)
        }
    }

    /// Restarts ICE for a client whose network has changed.
    private func restart(_ text: String) {
        guard let peer, let sentAnswer, !machine.isOver, text.utf8.count <= WebRTCCommand.longestFragment,
            let client = (try? ICEFragment(text))?.credentials
        else { return report(.refused(reason: "ICE cannot be restarted before the offer is answered")) }
        guard let own = peer.restartICE(),
            peer.setRemoteICE(WebRTCPeer.ICECredentials(name: client.name, password: client.password))
        else { return report(.refused(reason: "This machine's ICE library cannot restart: publish again")) }
        machine.restarted(now: MonotonicClock.now())
        remoteCandidates.restart()
        for candidate in remoteCandidates.take(text) { peer.addCandidate(candidate, section: section) }
        logger.info("ICE is restarted for the client")
        report(.restarted(fragment: ICERestart.fragment(of: sentAnswer, own)))
    }

    package func terminate() { perform(machine.end("the service ended it")) }

    /// Unpublishes the stream and frees everything.
    package func close() async {
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
        // A process that ends while a plug-in is being loaded crashes.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    // MARK: - Actions

    private func perform(_ actions: [WhipMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let publisher): open(publisher)
            case .report(let report):
                if case .ended(let reason, _) = report { logger.notice("the publication has ended: \(reason)") }
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
        let answer = WebRTCAnswer(
            to: offer, video: publication.video, audio: publication.audio, network: publisher.network,
            startBitRate: publisher.startBitRate)
        description = LocalDescription(network: publisher.network) { answer.text(of: $0, $1) }
        section = offer.sectionOfTransport
        opening = Task { [weak self] in await self?.connect(publisher, offer, publication) }
    }

    /// Creates the pipeline and begins to negotiate.
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
                peer.answer(offer.completed(publisher.offer))
            }
        } catch {
            let words = "\(error)"
            loop.perform { [self] in perform(machine.failed("This machine cannot receive WebRTC: \(words)")) }
        }
    }

    /// Creates the peer. Blocks.
    private func makePeer(_ network: WebRTCNetwork) throws(GStreamerError) -> WebRTCPeer {
        let peer = try WebRTCPeer(WebRTCReception.description, network: WebRTCPeer.Network(network), name: "whip") {
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
        description?.take(event, now: MonotonicClock.now())
        switch event {
        case .described:
            for candidate in remoteCandidates.described() { peer?.addCandidate(candidate, section: section) }
        case .candidate, .keyframeRequested: break
        case .gathered: answer()
        case .connection(let state):
            perform(machine.connection(state, now: MonotonicClock.now()))
        case .untrusted(let distrust): perform(machine.failed(distrust.words(of: "the client", "offer")))
        case .failed(let reason): perform(machine.failed("The offer cannot be answered: \(reason)"))
        }
    }

    /// Answers if the candidates are complete, or the time for them is over.
    private func answer() {
        let now = MonotonicClock.now()
        guard !machine.isOver, let outcome = description?.outcome(now: now) else { return }
        switch outcome {
        case .ready(let text):
            sentAnswer = text
            perform(machine.answered(text, now: now))
        case .noAddress: perform(machine.failed(LocalDescription.Outcome.words))
        }
    }

    private func take(_ frame: PublishedStream.Frame) {
        // The first frames may arrive before the connection is reported.
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
        guard let peer else { return perform(machine.tick(.init(), now: now)) }
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
