import EncodedMedia
import EventSubscription
import MixModel
import RoomService
import TextFormats

/// The resources that sessions take in their rooms, and give back: a page, outputs, the recording and HLS.
///
/// A room has one recording and one HLS, which its sessions share; anything that existed before a session stays when it
/// ends.
extension HMSDesk {
    /// Time without being live after which an output is given up, in seconds.
    private static let longestRetry = 300
    /// Source of the events of pages.
    private static let source = "/v2"

    /// Decides which resources a session will take, and checks them.
    func plan(_ session: inout HMSSession, _ wish: HMSStart, beside others: [HMSSession]) async throws {
        try planPage(&session, beside: others)
        var destinations: [PushDestination] = []
        for (index, url) in wish.urls.enumerated() {
            let id = "100ms-\(session.id)-\(index + 1)"
            let destination = try destination(id, url, session.room, field: "rtmp_urls[\(index)]")
            guard !destinations.contains(where: { RoomSettingsReader.isSame($0, destination) }) else {
                throw HMSFault.invalid("rtmp_urls[\(index)]", "a URL that is not listed twice")
            }
            destinations.append(destination)
        }
        session.outputs = destinations.map { HMSSession.Output(id: $0.id, url: $0.url) }
        let state = try await registry.snapshot(session.room)
        let settings = state?.room.document.settings
        session.hidesDefaults = settings?.outputs == nil && !session.outputs.isEmpty
        if wish.records {
            let current = state?.isRecordingOver == true ? nil : settings?.recording
            try Self.check(wish, beside: current)
            let known = current?.id
            let isOwn = known == nil || others.contains { $0.recorder?.id == known && $0.recorder?.isOwn == true }
            session.recorder = HMSSession.Recorder(
                id: known ?? RecordingSettings().following(nil).id, isOwn: isOwn,
                audioOnly: wish.isAudioOnly ? true : nil)
        }
        if session.kind == .liveStream {
            if let paused = others.first(where: { $0.hls?.isPaused == true }) {
                throw HMSFault(
                    .badRequest, "the recording of \(paused.kind.rawValue) \(paused.id) is paused",
                    ["both have the room's HLS: resume it, or stop it first"])
            }
            session.hls = HMSSession.HLS(
                keepsSegments: settings?.hls?.enableVOD ?? wish.keepsSegments, recordsFile: wish.records,
                metadata: wish.metadata,
                isOwn: settings?.hls == nil || others.contains { $0.hls?.isOwn == true })
        }
    }

    /// Checks the recording against the current one: a room has one recording, whose file all sessions share.
    private static func check(_ wish: HMSStart, beside current: RecordingSettings?) throws(HMSFault) {
        guard let current, (current.audioOnly ?? false) != wish.isAudioOnly else { return }
        let kind = wish.isAudioOnly ? "with" : "without"
        throw HMSFault(
            .badRequest, "the room is being recorded \(kind) pictures",
            ["a room has one recording, which audio_only concerns: stop it first, or start this one \(kind) them, too"])
    }

    /// Plans the page of a session. Sessions of a room share one page: two pages would be two participants in one
    /// picture.
    private func planPage(_ session: inout HMSSession, beside others: [HMSSession]) throws {
        guard let url = session.meetingURL else { return }
        guard let other = others.first(where: { $0.page != nil }) else {
            session.page = UserID("100ms-\(session.id)")
            _ = try publication(of: session)
            return
        }
        guard other.meetingURL?.hasSameUTF8(as: url) == true else {
            throw HMSFault(
                .badRequest, "meeting_url is not the page that the room shows",
                ["\(other.kind.rawValue) \(other.id) shows another one: name the same page, or stop that first"])
        }
        session.page = other.page
        // The page keeps the size in which it was opened.
        session.size = other.size
    }

    private func destination(
        _ id: String, _ url: String, _ room: RoomID, field: String
    ) throws(InputError) -> PushDestination {
        do throws(InputError) {
            return try outputs.output(.object(["id": .string(id), "url": .string(url)]), "", room)
        } catch {
            var error = error
            error.field = field
            throw error
        }
    }

    private func publication(of session: HMSSession) throws(InputError) -> RoomEvent {
        var fields: [String: JSONValue] = [
            "type": .string("stream.published"), "user": .string(session.page?.rawValue ?? ""),
            "kind": .string("page"), "meetingURL": .string(session.meetingURL ?? ""),
        ]
        if let size = session.size {
            fields["width"] = .number(Double(size.width))
            fields["height"] = .number(Double(size.height))
        }
        do throws(InputError) {
            var event = try parser.shortForm(.object(fields), room: session.room, id: HMSSession.newID())
            event.source = Self.source
            return event
        } catch {
            var error = error
            if error.field == "meetingURL" { error.field = "meeting_url" }
            throw error
        }
    }

    /// Adds the resources that a session needs to the room.
    func take(_ session: inout HMSSession, beside others: [HMSSession]) async throws {
        let now = MonotonicClock.now()
        if let page = session.page, !others.contains(where: { $0.page == page }) {
            _ = try await pages.take(try publication(of: session), at: now)
        }
        let added = session.outputs.map {
            PushDestination(id: $0.id, url: $0.url, retry: OutputRetry(maxSeconds: Self.longestRetry))
        }
        let recorder = session.recorder
        let hls = try session.hls.map { try hlsSettings($0) }
        let change = SettingsChange(summary: "\(session.kind.rawValue) \(session.id) started over 100ms' interface") {
            current, outputs throws(OrchestratorError) in
            var changed = current
            if !added.isEmpty { changed.outputs = try Self.outputs(outputs, with: added) }
            if let recorder, current.recording?.id != recorder.id {
                var recording = RecordingSettings(singleFilePerLayer: true, audioOnly: recorder.audioOnly)
                    .following(nil)
                recording.id = recorder.id
                changed.recording = recording
            }
            if let hls, current.hls == nil { changed.hls = hls }
            return changed
        }
        _ = try await registry.owner(session.room).configure(change, at: now)
    }

    private static func outputs(
        _ outputs: [PushDestination], with added: [PushDestination]
    ) throws(OrchestratorError) -> [PushDestination] {
        guard outputs.count + added.count <= RoomSettingsReader.mostOutputs else {
            throw OrchestratorError(
                .conflict, "too-many-outputs", "The room has the maximum number of outputs",
                detail: "it has \(outputs.count) of \(RoomSettingsReader.mostOutputs): stop another stream first")
        }
        for (index, destination) in added.enumerated()
        where outputs.contains(where: { RoomSettingsReader.isSame($0, destination) }) {
            throw OrchestratorError(
                .conflict, "output-taken", "The destination is in use", detail: "the room is sent to this URL already",
                field: "rtmp_urls[\(index)]")
        }
        return outputs + added
    }

    private func hlsSettings(_ hls: HMSSession.HLS) throws(InputError) -> HLSSettings {
        let renditions = settings.renditions.map { JSONValue.object(["height": .number(Double($0))]) }
        let document = JSONValue.object([
            "enableVOD": .boolean(hls.keepsSegments), "renditions": .array(renditions),
        ])
        var wanted = try HLSSettingsReader.settings(document, path: "hls") ?? HLSSettings()
        wanted.metadata = hls.metadata
        return wanted
    }

    /// Gives back the resources that no other session needs. Idempotent.
    func release(_ session: HMSSession) async throws {
        let others = book.present(in: session.room).filter { $0.id != session.id }
        guard let owner = try await registry.existingOwner(session.room) else { return }
        let now = MonotonicClock.now()
        let mine = Set(session.outputs.map(\.id))
        let heir = session.hidesDefaults ? others.first { !$0.outputs.isEmpty } : nil
        var bare = await owner.snapshot.room.document
        bare.settings.outputs = nil
        let defaults = session.hidesDefaults && heir == nil ? registry.services.outputs(of: bare).map(\.id) : nil
        let recorder = session.recorder.flatMap { recorder in
            recorder.isOwn && !others.contains { $0.recorder?.id == recorder.id } ? recorder.id : nil
        }
        let endsHLS = session.hls?.isOwn == true && !others.contains { $0.hls != nil }
        let change = SettingsChange(
            precondition: .isAt([]), summary: "\(session.kind.rawValue) \(session.id) ended over 100ms' interface"
        ) { current, outputs in
            var changed = current
            if outputs.contains(where: { mine.contains($0.id) }) {
                let rest = outputs.filter { !mine.contains($0.id) }
                changed.outputs = rest.map(\.id) == defaults ? nil : rest
            }
            if let recorder, current.recording?.id == recorder { changed.recording = nil }
            if endsHLS { changed.hls = nil }
            return changed
        }
        // First, so that no destination is sent the room without the page.
        do throws(OrchestratorError) {
            _ = try await owner.configure(change, at: now)
        } catch {
            // There is no such room, as only its owner can tell: it looks into the store if that has not answered.
            guard error.kind == .outdated else { throw error }
            return
        }
        if let page = session.page, !others.contains(where: { $0.page == page }) {
            let event = RoomEvent(
                room: session.room, app: session.app.rawValue, source: Self.source, id: HMSSession.newID(),
                kind: .streamUnpublished(user: page, stream: .camera, reason: session.reason))
            _ = try await pages.take(event, at: now)
        }
        if let heir { await hand(over: { $0.hidesDefaults = true }, to: heir.id) }
    }
}
