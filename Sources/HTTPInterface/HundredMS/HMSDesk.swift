import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import RoomService
import ServiceLifecycle
import TextFormats

/// Runs the external streams, live streams and recordings of 100ms' interface: starts and ends them in their rooms,
/// observes their state in the rooms, stores them, and delivers their webhooks.
///
/// A session changes only in its room's lane.
package actor HMSDesk: Service {
    let settings: HMSSettings
    let registry: RoomRegistry
    let pages: PageSupervisor
    let parser: EventParser
    let outputs: RoomSettingsReader
    let shelf: RecordingShelf
    /// Archives of HLS; `nil` if they are not uploaded.
    let archives: ArchiveShelf?
    let hls: HLSFiles
    let keys: AccessKeys
    let playback: PlaybackAccess
    let lanes = HMSLanes()
    let logger: Logger
    private let webhooks: HMSWebhooks?
    private let files: HMSFiles
    private(set) var book: HMSBook
    private var deliveries: [String: Delivery] = [:]
    /// Sessions whose webhooks are being delivered.
    private var delivering: Set<String> = []

    /// The attempts at a session's oldest webhook.
    private struct Delivery {
        var failures = 0
        /// Time of the next attempt, in seconds since 1970.
        var notBefore = 0.0
    }

    /// - Parameters:
    ///   - parser: Reads the publication of a page, within the permitted addresses of pages.
    ///   - outputs: Reads destinations, within the permitted addresses.
    ///   - keys: Sign the URLs of files.
    ///   - callbacks: `callbacks.allow`.
    /// - Throws: `StartupError` if the directory of sessions cannot be created.
    package init(
        _ settings: HMSSettings, data: String, registry: RoomRegistry, pages: PageSupervisor, parser: EventParser,
        outputs: RoomSettingsReader, shelf: RecordingShelf, archives: ArchiveShelf?, hls: HLSFiles, keys: AccessKeys,
        playback: PlaybackAccess, callbacks: AllowList, logger: Logger
    ) throws(StartupError) {
        self.settings = settings
        self.registry = registry
        self.pages = pages
        self.parser = parser
        self.outputs = outputs
        self.shelf = shelf
        self.archives = archives
        self.hls = hls
        self.keys = keys
        self.playback = playback
        self.logger = logger
        webhooks = settings.webhook.map { HMSWebhooks($0, allowed: callbacks) }
        let files = try HMSFiles(data: data)
        self.files = files
        book = HMSBook(files.found(), hasWebhooks: settings.webhook != nil)
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                await look(in: &group)
                try? await cancelWhenGracefulShutdown { [settings] in try await Task.sleep(for: settings.interval) }
            }
            // Undelivered webhooks are stored, and delivered by the next run.
            group.cancelAll()
        }
        await webhooks?.close()
    }

    // MARK: Looking

    /// Observes the rooms of all sessions that have not ended, once.
    private func look(in group: inout DiscardingTaskGroup) async {
        for known in book.active {
            if !known.status.isOver, !lanes.isBusy(known.room) {
                try? await lanes.pass(known.room) { await look(at: known.id) }
            }
            beginDelivery(of: known.id, in: &group)
        }
        for id in book.surplus() {
            book.remove(id)
            await offPool { [files] in files.remove(id) }
        }
    }

    private func look(at id: String) async {
        guard var session = book[id], !session.status.isOver else { return }
        var seen: HMSObservation
        do {
            seen = HMSObservation(
                try await registry.snapshot(session.room), pages.views(of: session.room), of: session)
            if session.status == .postProcessing, !seen.isRecordingWanted, let recorder = session.recorder {
                seen.files = HMSFilesOnDisk(try await shelf.files(of: session.room), of: recorder.id)
            }
        } catch {
            // A room that cannot be read now is observed again later.
            return
        }
        session.observe(seen, at: wallClock(), within: settings.limits)
        await keep(session)
        if session.status == .stopping, session.holdsRoom { await giveBack(session.id) }
    }

    /// Gives back the resources that a session holds in its room; if that fails, it is retried later.
    private func giveBack(_ id: String) async {
        guard var session = book[id] else { return }
        do {
            try await release(session)
            session.holdsRoom = false
            await keep(session)
        } catch {
            logger.warning("100ms: \(session.kind.rawValue) \(id) cannot be ended yet: \(HMSFault(error).message)")
        }
    }

    /// Accepts a change of a session that has already happened. If it cannot be stored now, it is stored with the next
    /// change.
    func keep(_ session: HMSSession) async {
        do {
            try await put(session)
        } catch {
            logger.error("100ms: \(session.id) cannot be stored in \(files.directory)")
            book.put(session)
        }
    }

    /// Stores a session, and then accepts it.
    ///
    /// - Throws: `HMSFault` of status 503 if it cannot be stored.
    func put(_ session: HMSSession) async throws {
        var session = session
        if webhooks == nil { session.outbox = [] }
        guard book[session.id] != session else { return }
        do {
            try await offPool { [files, session] in try files.write(session) }
        } catch {
            throw HMSFault(
                .serviceUnavailable, "the stream cannot be stored", ["look at the disk of the data directory"],
                retryAfter: 5)
        }
        book.put(session)
    }

    /// Changes a session that shares resources with one that ends.
    func hand(over change: (inout HMSSession) -> Void, to id: String) async {
        guard var session = book[id] else { return }
        change(&session)
        await keep(session)
    }

    // MARK: Calls

    /// Starts a session.
    ///
    /// - Parameter base: URL of this service from the caller's point of view.
    /// - Returns: The session, which is starting.
    func start(
        _ kind: HMSSession.Kind, _ wish: HMSStart, in room: RoomID, by key: String, base: String
    ) async throws -> HMSSession {
        try await lanes.pass(room) { try await startInLane(kind, wish, room, key, base) }
    }

    private func startInLane(
        _ kind: HMSSession.Kind, _ wish: HMSStart, _ room: RoomID, _ key: String, _ base: String
    ) async throws -> HMSSession {
        guard book.hasRoom else {
            throw HMSFault(
                .serviceUnavailable, "too many streams are running", ["at most \(HMSBook.mostLive)"], retryAfter: 10)
        }
        let others = book.present(in: room)
        if settings.isStrict, others.contains(where: { $0.kind.isBeam == kind.isBeam }) {
            throw HMSFault(
                .badRequest, "\(kind.isBeam ? "Beam" : "HLS") has already been started in the room",
                ["stop it first, or set hundredms.strict to false to run several"])
        }
        if settings.isStrict, try await registry.snapshot(room)?.isStored != true {
            throw HMSFault.notFound(
                "room", "create it with PUT /v1/rooms/{room}, or set hundredms.strict to false to start in any room")
        }
        var session = HMSSession(
            id: HMSSession.newID(), kind: kind, room: room, session: others.first?.session ?? HMSSession.newID(),
            accessKey: key, base: base, at: wallClock())
        session.meetingURL = wish.meetingURL ?? settings.meetingURL(of: room)
        session.size = wish.size
        session.destination = wish.destination
        try await plan(&session, wish, beside: others)
        // Before it takes resources, so that a crash leaves nothing in the room that would never be ended.
        try await put(session)
        do {
            try await take(&session, beside: others)
        } catch {
            // Even a change that failed may have been stored. What cannot be given back now is given back later: an
            // incomplete session ends as soon as it is observed. If another node has the room, nothing was taken.
            guard (try? await release(session)) != nil || registry.mayBeElsewhere(room) else { throw error }
            book.remove(session.id)
            await offPool { [files, id = session.id] in files.remove(id) }
            throw error
        }
        session.isComplete = true
        await keep(session)
        logger.info("100ms: \(kind.rawValue) \(session.id) is starting in \(room)")
        return session
    }

    /// Begins to end a session. A session that is ending or has ended is returned unchanged.
    ///
    /// - Returns: `nil` if the app has no session with this id.
    func stop(_ id: String, _ kind: HMSSession.Kind, of app: AppID) async throws -> HMSSession? {
        guard let known = find(id, kind, of: app) else { return nil }
        return try await lanes.pass(known.room) { try await stopInLane(id) }
    }

    /// Begins to end all sessions of a kind in a room.
    func stopAll(_ kind: HMSSession.Kind, in room: RoomID) async throws -> [HMSSession] {
        try await lanes.pass(room) {
            var stopped: [HMSSession] = []
            for session in book.present(in: room) where session.kind == kind && session.status.isLive {
                if let session = try await stopInLane(session.id) { stopped.append(session) }
            }
            return stopped
        }
    }

    private func stopInLane(_ id: String) async throws -> HMSSession? {
        guard var session = book[id] else { return nil }
        guard session.status.isLive else { return session }
        session.stop(.request, at: wallClock())
        try await put(session)
        await giveBack(id)
        logger.info("100ms: \(session.kind.rawValue) \(id) is stopping")
        return book[id]
    }

    func find(_ id: String, _ kind: HMSSession.Kind? = nil, of app: AppID) -> HMSSession? {
        guard let session = book[id], session.app == app, kind == nil || session.kind == kind else { return nil }
        return session
    }

    /// Returns the file with this id, of any app.
    func asset(_ id: String) -> (HMSSession, HMSAsset)? {
        for session in book.all {
            if let asset = session.assets.first(where: { $0.id.hasSameUTF8(as: id) }) { return (session, asset) }
        }
        return nil
    }

    /// Closes a room, which ends everything that runs in it.
    func endRoom(_ room: RoomID) async throws {
        guard let owner = try await registry.existingOwner(room), await owner.snapshot.room.document.isOpen,
            await !owner.snapshot.room.document.isBlank
        else { throw HMSFault.notFound("active room", "the room has no participants, or does not exist") }
        let event = RoomEvent(
            room: room, app: room.app.rawValue, source: "/v2", id: HMSSession.newID(), kind: .roomClosed)
        _ = try await pages.take(event, at: MonotonicClock.now())
    }

    // MARK: Webhooks

    private func beginDelivery(of id: String, in group: inout DiscardingTaskGroup) {
        guard let webhooks, let session = book[id], !session.outbox.isEmpty,
            delivering.count < HMSWebhooks.mostConnections,
            deliveries[id, default: Delivery()].notBefore <= wallClock(), delivering.insert(id).inserted
        else { return }
        group.addTask { await self.deliver(id, webhooks) }
    }

    /// Delivers a session's oldest webhook, and further ones as long as delivery succeeds.
    private func deliver(_ id: String, _ webhooks: HMSWebhooks) async {
        defer { delivering.remove(id) }
        while let session = book[id], let notice = session.outbox.first, !Task.isCancelled {
            let urls = notice.event == .recorded ? await presignedURLs(of: session) : [:]
            let fault = await webhooks.send(session.body(of: notice, urls: urls), id: notice.id)
            guard !Task.isCancelled else { return }
            if let fault {
                var delivery = deliveries[id, default: Delivery()]
                if delivery.failures < settings.pauses.count {
                    delivery.notBefore = wallClock() + settings.pauses[delivery.failures]
                    delivery.failures += 1
                    deliveries[id] = delivery
                    return
                }
                logger.warning(
                    "100ms: the webhook \(session.type(of: notice.event)) of \(id) is given up: hundredms.webhook.url \(fault)"
                )
            }
            deliveries[id] = nil
            do {
                try await lanes.pass(session.room) { await strike(notice.id, of: id) }
            } catch {
                // Delivered once more, with the same id.
                return
            }
        }
    }

    private func strike(_ notice: String, of id: String) async {
        guard var session = book[id] else { return }
        session.outbox.removeAll { $0.id == notice }
        await keep(session)
    }
}
