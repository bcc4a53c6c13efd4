import EncodedMedia
import Foundation
import GStreamerKit
import Logging
import MediaFormats
import MixModel
import RTMP

/// Performs the decisions of a `WhepMachine`: owns the stream's connection, its Opus transcoder, and a sender for each
/// viewer.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there, except
/// `close()`. Blocking work runs on its own queue.
package final class WhepPlayback: StreamDuty, @unchecked Sendable {
    package static var elements: [(name: String, package: String)] { WebRTCSending.elements + OpusTranscoder.elements }

    /// Time in ns between two checks of viewers and stream, and between two reports of figures.
    private static let interval: Int64 = 50_000_000
    private static let figuresInterval: Int64 = 2_000_000_000

    private struct Viewer {
        let sender: WebRTCSender
        let viewing: WebRTCOffer.Viewing
        var gate = ViewerGate()
        var isConnected = false
    }

    private let loop = SocketLoop.shared
    private let queue = DispatchQueue(label: "whep")
    private let logger: Logger
    private let report: (PlayReport) -> Void
    private let onEnd: () -> Void

    private var machine = WhepMachine()
    private var stream = SentStream()
    private var origin: OriginClient?
    private var transcoder: OpusTranscoder?
    private var soundFailure: String?
    private var viewers: [String: Viewer] = [:]
    /// Connections that are being closed.
    private var closing: [Int: Task<Void, Never>] = [:]
    private var closed = 0
    private let ticker = LoopDeadline()
    private var figuresAt: Int64 = 0
    /// Figures of viewers that have left.
    private var former = WebRTCSender.Figures()

    package static func refusal(_ reason: String) -> PlayReport { .failed(reason: reason) }

    package init(logger: Logger, report: @escaping (PlayReport) -> Void, onEnd: @escaping () -> Void) {
        self.logger = logger
        self.report = report
        self.onEnd = onEnd
        // While the first offer is in transit: loading plug-ins takes about 0.3 s.
        queue.async { GStreamerRuntime.load(Self.elements.map(\.name)) }
        ticker.begin { [weak self] in self?.tick() }
    }

    package var greeting: [PlayReport] {
        [.hello(version: PlayCommand.version, process: getpid(), stream: machine.stream, viewers: machine.all)]
            + machine.connected.map { .connected(viewer: $0) }
    }

    package func obey(_ command: PlayCommand) {
        switch command {
        case .hello, .terminate: break
        case .play(let source): perform(machine.play(source, now: MonotonicClock.now()))
        case .view(let viewer, let offer): perform(machine.view(viewer, offer: offer))
        case .candidates(let viewer, let fragment): viewers[viewer]?.sender.addCandidates(fragment)
        case .close(let viewer): perform(machine.close(viewer))
        }
    }

    package func terminate() { perform(machine.end(nil)) }

    package func close() async {
        let tasks = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                ticker.end()
                origin?.close()
                continuation.resume(returning: Array(closing.values))
            }
        }
        for task in tasks { await task.value }
        // A process that ends while a plug-in is being loaded, or a codec is working, crashes.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    // MARK: - Actions

    private func perform(_ actions: [WhepMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let source):
                origin = OriginClient(source.origin) { [weak self] event in self?.take(event) }
                ticker.set(MonotonicClock.now() + Self.interval)
            case .dial: origin?.dial()
            case .take(let viewer, let offer): take(offer, of: viewer)
            case .drop(let viewer): drop(viewer)
            case .report(let report):
                log(report)
                self.report(report)
            case .requestKeyframe: origin?.requestKeyframe()
            case .finish: finish()
            }
        }
    }

    private func log(_ report: PlayReport) {
        switch report {
        case .ended(let viewer, let reason):
            logger.info("a viewer has ended: \(reason)", metadata: ["viewer": "\(viewer.prefix(8))"])
        case .failed(let reason): logger.notice("the worker ends: \(reason)")
        default: break
        }
    }

    private func take(_ text: String, of id: String) {
        do throws(WebRTCOfferError) {
            let offer = try WebRTCOffer(text)
            let viewing = try offer.viewing(of: stream.profile)
            let formats = WebRTCSender.Formats(
                video: viewing.video?.format.payload, audio: viewing.audio?.format.payload)
            let sender = WebRTCSender(formats, network: machine.network(of: id), name: "viewer") { [weak self] event in
                self?.take(event, of: id)
            }
            viewers[id] = Viewer(sender: sender, viewing: viewing)
            sender.answer(offer, text, video: viewing.video, audio: viewing.audio)
        } catch { perform(machine.ended(id, error.reason)) }
    }

    private func drop(_ id: String) {
        guard let viewer = viewers.removeValue(forKey: id) else { return }
        let figures = viewer.sender.figures
        former.packets += figures.packets
        former.lost += figures.lost
        closed += 1
        let number = closed
        closing[number] = Task { [weak self, loop] in
            await viewer.sender.close()
            loop.perform { [weak self] in self?.closing[number] = nil }
        }
        adjustSound()
    }

    private func finish() {
        ticker.end()
        origin?.close()
        adjustSound()
        onEnd()
    }

    // MARK: - Viewers

    private func take(_ event: WebRTCSender.Event, of id: String) {
        let now = MonotonicClock.now()
        switch event {
        case .described(let answer): perform(machine.answered(id, answer, now: now))
        case .connected:
            guard viewers[id] != nil else { break }
            viewers[id]?.isConnected = true
            if viewers[id]?.viewing.video != nil {
                viewers[id]?.gate.begin(now: now)
                machine.needsKeyframe()
            }
            perform(machine.connected(id, now: now))
            adjustSound()
            tick()
        case .keyframeRequested:
            viewers[id]?.gate.keyframeRequested(now: now)
            machine.keyframeRequested()
            tick()
        case .ended(let reason): perform(machine.ended(id, reason))
        }
    }

    /// Encodes audio only while a viewer receives it.
    private func adjustSound() {
        let isWanted = viewers.values.contains { $0.isConnected && $0.viewing.audio != nil }
        if isWanted, transcoder == nil {
            logger.debug("sound is encoded from now on")
            let new = OpusTranscoder { [weak self, loop] packet in
                loop.perform { [weak self] in self?.send(packet) }
            }
            transcoder = new
            if let sound = stream.sound { new.take(.configuration(sound)) }
        } else if !isWanted, let old = transcoder {
            logger.debug("sound is not encoded any more")
            transcoder = nil
            queue.async { old.tearDown() }
        }
    }

    private func send(_ packet: OpusTranscoder.Packet) {
        for viewer in viewers.values where viewer.isConnected { viewer.sender.push(packet) }
    }

    private func send(_ picture: WebRTCPicture, _ now: Int64) {
        for id in viewers.keys {
            guard let sender = viewers[id]?.sender else { continue }
            guard viewers[id]?.gate.admits(isIDR: picture.isIDR, isBehind: sender.isBehind(now: now)) ?? false else {
                if !picture.isIDR, viewers[id]?.gate.isBehind ?? false { machine.needsKeyframe() }
                continue
            }
            sender.push(picture: picture.bytes, at: picture.time, isIDR: picture.isIDR)
        }
    }

    // MARK: - The stream

    private func take(_ event: OriginClient.Event) {
        guard !machine.isOver else { return }
        let now = MonotonicClock.now()
        switch event {
        case .began:
            stream.begin()
            for id in viewers.keys { viewers[id]?.gate.restart(now: now) }
        case .tags(let tags): take(tags, now)
        case .ended(let words):
            logger.info("the stream is away: \(words)")
            perform(machine.feedEnded(words, now: now))
        }
    }

    private func take(_ tags: [OriginClient.Tag], _ now: Int64) {
        machine.streamCame(now: now)
        for tag in tags {
            let outputs: [SentStream.Output]
            do throws(SentStream.Failure) { outputs = try stream.take(tag, now: now) } catch {
                return perform(machine.end(error.words))
            }
            for output in outputs {
                switch output {
                case .picture(let picture):
                    if picture.isIDR { machine.tookKeyframe() }
                    send(picture, now)
                case .sound(let item): transcoder?.take(item)
                }
            }
        }
    }

    private func tick() {
        guard !machine.isOver else { return }
        let now = MonotonicClock.now()
        ticker.set(now + Self.interval)
        if stream.isLive(now: now), !stream.group.isEmpty { sendGroups(now) }
        var heard: [String: Int64] = [:]
        for (id, viewer) in viewers { heard[id] = viewer.sender.lastHeard }
        perform(machine.tick(heard, now: now))
        if let failure = transcoder?.failure, failure != soundFailure {
            soundFailure = failure
            logger.warning("viewers hear nothing: \(failure)")
        }
        guard !machine.isOver, now >= figuresAt, machine.hasViewers else { return }
        figuresAt = now + Self.figuresInterval
        tellFigures()
    }

    private func sendGroups(_ now: Int64) {
        var group: [WebRTCPicture]?
        for id in viewers.keys {
            guard let sender = viewers[id]?.sender, viewers[id]?.gate.takesGroup(now: now) ?? false else { continue }
            let pictures = group ?? stream.groupForJoining()
            group = pictures
            sender.beginBurst(now: now)
            for picture in pictures { sender.push(picture: picture.bytes, at: picture.time, isIDR: picture.isIDR) }
        }
    }

    private func tellFigures() {
        var figures = PlayFigures()
        figures.connected = machine.connected.count
        figures.keyframeRequests = machine.keyframeRequests
        let all = viewers.values.map(\.sender.figures) + [former]
        figures.packets = all.reduce(0) { $0 + $1.packets }
        figures.lost = all.reduce(0) { $0 + $1.lost }
        report(.figures(figures))
    }
}
