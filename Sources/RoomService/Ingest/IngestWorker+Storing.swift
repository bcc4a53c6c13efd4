import EncodedMedia
import MixModel
import TextFormats

/// Stores the events of streams in their rooms.
extension IngestWorker {
    /// Lets a publisher begin, unless another one or a circle of programs is in the way.
    ///
    /// - Parameters:
    ///   - hasWaited: Whether it has met a hold before, and is refused if it meets one again.
    ///   - now: Time in ns of `MonotonicClock`.
    func begin(_ key: IngestStreamKey, _ request: IngestRequest, hasWaited: Bool, now: Int64) async {
        // It has left while it waited for the hook, a hold or the room's other work. Another one may have the stream.
        guard undecided.contains(request.session) else { return }
        // After a reconnection the ingest repeats its pending requests, of which this one has been decided meanwhile.
        if desk.isLive(key, session: request.session, isConnected: true) { return allow(request, key) }
        if rules.takeover == .refuse, desk.hasPublisher(key) {
            return refuse(request, isName: true, Self.occupied)
        }
        if let hold = holds.activity(of: key, now: now).hold {
            return giveWay(key, request, hold.words, hasWaited: hasWaited)
        }
        if let refusal = await circle(key, request) {
            return refuse(request, isName: refusal.isName, refusal.reason)
        }
        // Asked before storing, which makes this publisher the connected one.
        let isTakeover = desk.hasPublisher(key)
        let quota = registry.services.quotas.quotas.of(key.names.room.app)[.publishers]
        let courtesy: StreamCourier.Courtesy = rules.takeover == .refuse ? .yields : .yieldsToHold
        let fault = await store(key, request.session, now, courtesy, within: quota) {
            await self.undecided.contains(request.session)
        }
        if let fault {
            circles.end(key)
            // No answer: if the ingest was only found again, it repeats the request.
            guard fault != .publisherLeft else { return }
            guard fault != .publishedElsewhere else { return refuse(request, isName: true, Self.occupied) }
            guard !fault.isOfHeldStream else { return giveWay(key, request, fault.detail, hasWaited: hasWaited) }
            let reason = URLRedaction.redact("\(fault.title): \(fault.detail)")
            // Quotas name the app and the setting, and no part of the stream key.
            return refuse(request, isName: false, reason, logged: fault.quota == nil ? fault.title : reason)
        }
        allow(request, key)
        if isTakeover { noteTakeover(of: key, by: request) }
    }

    private func allow(_ request: IngestRequest, _ key: IngestStreamKey) {
        undecided.remove(request.session)
        send(.allow(request: request.request, session: request.session, stream: key.text))
    }

    private static let occupied = "another publisher is live with this stream key"

    /// Has a publisher wait that has met a hold, or refuses it if it has waited.
    private func giveWay(_ key: IngestStreamKey, _ request: IngestRequest, _ words: String, hasWaited: Bool) {
        let entry = TakeoverHolds.Waiting(key: key, request: request, process: process)
        if !hasWaited, holds.wait(entry, now: MonotonicClock.now()) { return }
        refuse(request, isName: true, words, logged: TakeoverHolds.held)
    }

    /// Reports a publisher that takes the place of a connected one. OBS does not read what a server sends while it publishes:
    /// two of them with one stream key replace each other for as long as they run, and neither shows why.
    private func noteTakeover(of key: IngestStreamKey, by request: IngestRequest) {
        logger.notice(
            "\(IngestStream.takenOver)", metadata: ["stream": "\(key.text)", "address": "\(request.address)"])
        note("publisher replaced", key.names, IngestStream.takenOver, limit: &takeovers)
    }

    /// Stores the event of a publisher that begins.
    ///
    /// - Parameters:
    ///   - quota: Maximum number of the app's streams; `nil` for one that is already at the ingest.
    ///   - isWanted: As for `StreamCourier.begin`.
    /// - Returns: The reason why it may not begin; `nil` if it may.
    private func store(
        _ key: IngestStreamKey, _ session: String, _ now: Int64, _ courtesy: StreamCourier.Courtesy,
        within quota: Int? = nil, isWanted: @Sendable () async -> Bool = { true }
    ) async -> OrchestratorError? {
        // Nothing waits between this and the desk's `begins`, so that two rooms do not take the last place.
        if let quota, !desk.hasPlace(for: key, most: quota) {
            return .overQuota(.publishers, quota, key.names.room.app)
        }
        let url = key.url(of: rules, secret: secret)
        let process = process
        let wasSending =
            desk.hasPublisher(key) && desk.session(of: key) != session && holds.activity(of: key, now: now).isSending
        // The start of a publisher is always admitted.
        guard let event = desk.begins(key, session: session, url: url, now: now) else { return nil }
        do throws(OrchestratorError) {
            let succession = try await courier.begin(
                event, of: key.text, path: key.relayPath(secret: secret), courtesy: courtesy, isWanted: isWanted)
            desk.settle(key, session: session, url: url, as: .stored, now: now)
            // The publisher of an ingest that is gone has gone with it: nobody would report its end.
            if process == self.process {
                holds.began(
                    key, session: session, fromSender: wasSending || succession.wasSending, now: MonotonicClock.now())
            }
            writeJournal()
            if let former = succession.former.flatMap({ IngestStreamURL($0.url) }) { displace(key, at: former.place) }
            return nil
        } catch {
            desk.settle(key, session: session, url: url, as: error.isFault ? .failed : .refused, now: now)
            return error
        }
    }

    /// Puts a stream that the ingest has named into its room, unless its publisher, or another one, has come to another node
    /// meanwhile.
    func reconcile(_ key: IngestStreamKey, _ stream: IngestStream, _ now: Int64) async {
        guard !desk.isLive(key, session: stream.session, isConnected: stream.isConnected) else { return }
        guard let fault = await store(key, stream.session, now, .yieldsIfTold) else { return }
        logger.warning("a live stream is in no room: \(fault.title)", metadata: ["stream": "\(stream.stream)"])
        if fault == .publishedElsewhere { send(.takenOver(stream: key.text, session: stream.session)) }
    }

    /// - Parameter present: As for `IngestLanes.Work.end`.
    func end(_ key: IngestStreamKey, _ session: String, _ present: IngestStream?, _ now: Int64) async {
        if let present {
            if desk.returns(key, to: present, from: session, now: now) { writeJournal() }
            return
        }
        guard let event = desk.ends(key, session: session, now: now) else { return }
        do throws(OrchestratorError) {
            try await courier.store(event, path: key.relayPath(secret: secret))
            desk.settleEnd(key, session: session, as: .stored)
            circles.end(key)
            writeJournal()
        } catch {
            desk.settleEnd(key, session: session, as: error.isFault ? .failed : .refused)
            logger.warning("the end of a stream is not stored: \(error.title)", metadata: ["stream": "\(key.text)"])
        }
    }

    private func writeJournal() {
        do {
            try configuration.files.write(desk.journal, origins: circles.origins, at: rules.pullPlace)
        } catch {
            logger.warning("the list of live streams is not written: \(error)")
        }
    }

    // MARK: - Ingests of other nodes

    /// Asks the publishers that follow such requests to reconnect. `reconnecting` says how many there are.
    func askToReconnect() {
        reconnecting = nil
        // They take over their own streams, also when they were asked at another node a moment ago.
        holds.release()
        send(.reconnect(reason: "this server is about to stop"))
    }

    /// Returns the same as `LocalStreams.hasPublisher`.
    func hasPublisher(of text: String) -> Bool? {
        guard configuration.isOn, let key = IngestStreamKey(text) else { return false }
        if desk.hasPublisher(key) || desk.isBeginning(key) { return true }
        return isSynced ? false : nil
    }

    /// Returns the same as `LocalStreams.activity`.
    func activity(of text: String) -> PublisherActivity {
        IngestStreamKey(text).map { holds.activity(of: $0, now: MonotonicClock.now()) } ?? PublisherActivity()
    }

    /// Ends the stream here if its room has it from another ingest by now. Beginnings in the room wait meanwhile, so that what
    /// the store says is not older than what the desk knows.
    func look(at key: IngestStreamKey) async {
        guard let session = desk.session(of: key), let stored = try? await registry.storedURL(of: key.names),
            IngestStreamURL(stored)?.isElsewhere(than: key.relayPath(secret: secret)) ?? false
        else { return }
        logger.info("a stream is at another node's ingest by now", metadata: ["stream": "\(key.text)"])
        send(.takenOver(stream: key.text, session: session))
    }

    /// Has the ingest told which had the stream until now.
    private func displace(_ key: IngestStreamKey, at place: String) {
        // What is not told is found out by looking.
        if displaced.count < Self.mostDisplaced { displaced.append(.displace(stream: key.text, place: place)) }
    }

    /// Most takeovers that wait to be told.
    private static let mostDisplaced = 64
}
