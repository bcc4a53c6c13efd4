import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import ProgramSplicer
import RTMP

/// A connection on the relay's socket.
struct Connection {
    enum Role {
        /// No line has arrived yet.
        case unknown
        case control
        case viewer
        /// A client that asks for previews.
        case preview
    }

    /// Number of bytes by which a viewer may be behind before it is disconnected: about half a minute of a program.
    static let viewerLimit = 8 << 20
    /// Largest size of commands waiting for the relay, in bytes.
    static let commandLimit = 8 << 20

    let channel: SocketChannel
    var role = Role.unknown
    /// Whether a viewer gets layouts.
    var takesLayouts = false
    /// Whether it has asked the relay to stand by, so that its plans do not end the standby.
    var asksForSilence = false
    /// Commands that have arrived and have not been handled yet.
    let backlog: Backlog
}

extension Relay {
    func accept(_ descriptor: Int32) {
        connectionCount += 1
        let id = connectionCount
        let backlog = Backlog(limit: Connection.commandLimit)
        let reader = CommandReader()
        let channel = SocketChannel(
            descriptor: descriptor,
            onBytes: { [weak self, documents] bytes in
                switch backlog.add(bytes.count) {
                case .taken:
                    documents.async { [weak self] in
                        let lines = reader.push(bytes)
                        self?.post(
                            lines.map { .commands(connection: id, $0, size: bytes.count) }
                                ?? .disconnected(connection: id))
                    }
                case .exceeded: self?.post(.disconnected(connection: id))
                case .over: break
                }
            },
            onClosed: { [weak self, documents] in
                // After the last commands.
                documents.async { [weak self] in self?.post(.disconnected(connection: id)) }
            })
        connections[id] = Connection(channel: channel, backlog: backlog)
    }

    func disconnected(_ id: Int) {
        connections[id]?.channel.close()
        connections[id] = nil
        if !connections.values.contains(where: { $0.role == .control }), orphanSince == nil { orphanSince = now }
    }

    /// Handles the request of a viewer or an output for a keyframe. Requests that arrive too soon are combined.
    func requestKeyframe() {
        let now = now
        keyframeRequests.ask()
        passKeyframeRequest(now: now)
        if keyframeRequests.due != nil { scheduleTick(now: now, isCalm: isCalm(now: now)) }
    }

    /// Asks for a keyframe if the program has had none for the keyframe distance of a mix: WebRTC publishers send none
    /// without a request, and a viewers' server waits for one.
    func keepKeyframesComing(now: MediaTime) {
        guard case .source(let id) = splicer.onAir, sources[id]?.takesKeyframeRequests ?? false,
            keyframeRequests.lacksKeyframe(now: now)
        else { return }
        keyframeRequests.ask()
    }

    /// Forwards a viewer's request for a keyframe to the feed on air, if one is waiting and may be forwarded.
    func passKeyframeRequest(now: MediaTime) {
        guard keyframeRequests.take(now: now), let onAir = splicer.onAir, splicer.tracks != .audio else { return }
        if case .source(let id) = onAir {
            // A splice may have asked a moment ago.
            if let last = sources[id]?.requestKeyframe(now: now, pause: KeyframeRequests.pause) {
                keyframeRequests.wait(after: last)
            }
        } else if isSlateRepeated {
            slate.requestKeyframe()
        } else if let slot = mixers.first(where: { $0.feed == onAir }), let last = splicer.lastVideo,
            let interval = slot.interval, let distance = slot.keyframeDistance
        {
            for time in keyframeRequests.times(of: onAir, next: last + interval, distance: distance) {
                slot.process.send(.requestIDR(time))
            }
        }
    }

    func received(_ lines: [CommandReader.Line], size: Int, on id: Int) {
        connections[id]?.backlog.remove(size)
        for line in lines {
            switch line {
            case .command(let command): handle(command, on: id)
            case .unreadable(let reason):
                logger.error("unreadable command: \(reason)")
                // A viewer gets only FLV.
                guard connections[id]?.role != .viewer else { continue }
                reply(.refused(reason: "unreadable command: \(reason)"), on: [id])
            }
        }
    }

    private func handle(_ command: RelayCommand, on id: Int) {
        switch command {
        // The connection has been closed since.
        case .hello where connections[id] == nil: break
        case .hello(let version) where version == RelayCommand.version:
            connections[id]?.role = .control
            orphanSince = nil
            reply(.status(status), on: [id])
        case .hello(let version):
            reply(.refused(reason: "relay speaks version \(RelayCommand.version), not \(version)"), on: [id])
        case .viewFLV(let keyframeRequests, let layouts):
            // A second request would begin another FLV stream in the middle of this one.
            guard connections[id]?.role != .viewer else { break }
            connections[id]?.role = .viewer
            connections[id]?.takesLayouts = layouts ?? false
            connections[id]?.channel.send(
                viewerPreamble(announcesRequests: keyframeRequests ?? false, hasLayout: layouts ?? false))
        case .requestKeyframe:
            requestKeyframe()
        case .preview(let source, let hasPicture):
            sendPreview(of: source, hasPicture: hasPicture, on: id)
        case .apply(let plan) where plan.task == configuration.task:
            apply(plan)
            if connections[id]?.asksForSilence == false { endStandby() }
        case .apply(let plan):
            reply(.refused(reason: "this is the relay of \(configuration.task), not of \(plan.task)"), on: [id])
        case .retryOutput(let output): retryNow(output)
        case .hold(let deadline): hold(until: deadline)
        case .resume(let place):
            connections[id]?.asksForSilence = false
            endStandby(at: place)
        case .standBy:
            connections[id]?.asksForSilence = true
            standBy()
        case .drain:
            isDraining = true
        }
    }

    /// Applies a plan, which is complete in itself. A plan that is not newer than the current one changes nothing.
    private func apply(_ plan: ProgramPlan) {
        guard plan.revision > self.plan?.revision ?? 0 else { return reportStatus() }
        let plan = idle.take(plan)
        // Texts in the picture may change every second: that is not news, and must not restart any wait.
        let isNews = self.plan.map { !plan.onlyChangesOverlays(of: $0) } ?? true
        logger.log(
            level: isNews ? .info : .debug, "plan \(plan.revision): \(plan.mode) because of \(plan.cause), at \(now)")
        let carried = carriedCodecs
        self.plan = plan
        // Pulls learn at their start which codecs pass.
        let isOtherCodec = carried != carriedCodecs
        if isNews { planAppliedAt = now }
        setTracks(plan.tracks ?? .all)
        if messages.settings != plan.sei { messages.settings = plan.sei }
        if case .bypass = plan.mode { mixerError = nil }
        let planned = Dictionary(plan.sources.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        // The host first, in case sources must be connected one at a time.
        let order = plan.sources.map(\.id).sorted { $0 == hostID && $1 != hostID }
        for id in order {
            guard let source = planned[id] else { continue }
            if let known = sources[id], known.planned.url == source.url {
                sources[id]?.planned = source
                sources[id]?.removedAt = nil
                if isOtherCodec, known.dependsOnCarriedCodecs { connect(id) }
            } else {
                if let known = sources[id] { endProbe(of: known) }
                disconnect(id)
                if sources[id] != nil { forgetQuarantine(of: id) }
                sources[id] =
                    sources[id].map { PulledSource(planned: source, replacing: $0, now: now) }
                    ?? PulledSource(planned: source, now: now)
                removeFromMixers(id)
                // Before the connection, which may begin with the backup.
                sources[id]?.judge(by: plan.quality)
                connect(id)
            }
        }
        // A source that has lost its pane is judged by its previous pane.
        for pane in plan.scene.panes {
            sources[SourceID(pane.source)]?.dropAfter = .milliseconds(pane.dropAfter ?? Pane.usualDropAfter)
        }
        for source in sources.values { source.judge(by: plan.quality) }
        let removedAt = now
        for (id, source) in sources where planned[id] == nil && source.removedAt == nil {
            sources[id]?.removedAt = removedAt
        }
        notePeople(of: plan)
        applyOutputs(plan)
        reconsider()
        reportStatus()
    }

    func note(code: String, _ message: String, isBad: Bool = true) {
        guard let omitted = noteLimit.take(now: now) else { return }
        if omitted > 0 {
            let notice = "\(omitted) messages before this one were left out, because there were too many"
            logger.warning("\(notice)")
            send(.note(code: "messages-left-out", message: notice))
        }
        logger.log(level: isBad ? .warning : .info, "\(code): \(message)")
        send(.note(code: code, message: message))
    }

    func send(_ report: RelayReport) {
        reply(report, on: connections.filter { $0.value.role == .control }.map(\.key))
    }

    func reportStatus() {
        lastStatusAt = now
        send(.status(status))
    }

    /// Sends a report, after earlier ones.
    ///
    /// While too many reports are waiting, a status is dropped, because the next one replaces it. For any other report
    /// the connection is closed; the client gets the program's state when it connects again.
    private func reply(_ report: RelayReport, on ids: [Int]) {
        let receivers = ids.compactMap { id in connections[id].map { (id: id, channel: $0.channel) } }
        guard !receivers.isEmpty else { return }
        // Another thread, which then wakes the loop, would cost more than the work. No earlier report is waiting.
        if case .status(let status) = report, status.isShort, reports.isEmpty {
            return Relay.write(report, to: receivers) { post(.disconnected(connection: $0)) }
        }
        let isReplaceable = if case .status = report { true } else { false }
        guard reports.addIfItFits(0, leaving: isReplaceable ? reports.limit / 2 : 0) else {
            if !isReplaceable {
                for id in ids { disconnected(id) }
            }
            return
        }
        documents.async { [weak self, reports] in
            defer { reports.remove(0) }
            Relay.write(report, to: receivers) { self?.post(.disconnected(connection: $0)) }
        }
    }

    /// - Parameter onSlow: Called for a client that does not read and is disconnected, like a viewer.
    private static func write(
        _ report: RelayReport, to receivers: [(id: Int, channel: SocketChannel)], onSlow: (Int) -> Void
    ) {
        guard let line = try? DocumentEncoder.json(report) else { return }
        let bytes = Array(line.utf8) + [0x0A]
        for receiver in receivers {
            guard receiver.channel.pendingBytes < Connection.viewerLimit else {
                onSlow(receiver.id)
                continue
            }
            receiver.channel.send(bytes)
        }
    }

    /// Closes all connections after the last reports.
    func finishConnections() {
        let channels = connections.values.map(\.channel)
        endings.append { [documents] in
            await withCheckedContinuation { continuation in
                documents.async {
                    for channel in channels { channel.finish() }
                    SocketLoop.shared.perform { continuation.resume() }
                }
            }
        }
    }

    private var status: RelayStatus {
        let now = now
        shares.divide(ProcessClock.own)
        return RelayStatus(
            task: configuration.task, processID: getpid(), revision: plan?.revision ?? 0,
            onAir: splicer.onAir.map(kind), bypassSource: splicer.onAir.flatMap(source(of:)),
            scene: splicer.onAir?.isMixer ?? false && sceneOnAir != plan?.scene ? sceneOnAir : nil,
            sources: sources.values.map { $0.status(now: now) }.sorted { $0.id < $1.id },
            outputs: outputStatuses, programTime: now, mixerError: mixerError,
            load: share.map { RelayLoad(relaySeconds: $0.seconds, mixer: mixer?.load, twin: twin.slot?.load) },
            sharesProcess: configuration.shares != nil, idle: idle.status, place: place,
            isSilent: standby.isSilent && silencing == .none)
    }
}

extension RelayStatus {
    /// Whether the status is encoded in the time of a few packets.
    fileprivate var isShort: Bool { scene == nil && idle == nil && sources.count <= 2 && outputs.count <= 4 }
}
