import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// `/v1/rooms/{room}/recording` and `/v1/rooms/{room}/recordings`: recording on air, and the recorded files.
package struct RecordingController: Sendable {
    let registry: RoomRegistry
    let shelf: RecordingShelf
    /// The lister of uploaded archives; `nil` if nothing is uploaded.
    let archives: ArchiveShelf?

    package init(registry: RoomRegistry, shelf: RecordingShelf, archives: ArchiveShelf? = nil) {
        self.registry = registry
        self.shelf = shelf
        self.archives = archives
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/rooms/{room}/recording", use: get)
        router.put("v1/rooms/{room}/recording", use: put)
        router.delete("v1/rooms/{room}/recording", use: stop)
        router.get("v1/rooms/{room}/recordings", use: list)
        router.get("v1/rooms/{room}/recordings/{file}", use: download)
        router.delete("v1/rooms/{room}/recordings/{file}", use: remove)
    }

    // MARK: - On air

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let owner = try await owner(try context.roomID())
        return jsonResponse(await owner.snapshot.recordingView)
    }

    /// Starts or changes a recording. An empty body is an empty object: every setting has its default. A running
    /// recording continues; one that has failed or ended by itself is restarted.
    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let bytes = try await request.bytes()
        let document = bytes.isEmpty ? .boolean(true) : try JSONValue(parsing: bytes)
        let settings = try RecordingSettingsReader.settings(document, path: "") ?? RecordingSettings()
        let owner = try await owner(try context.roomID())
        let isOver = await owner.snapshot.mayRecordingBeOver
        let change = SettingsChange(
            precondition: try SettingsPrecondition(request.headers), summary: "recording requested by API"
        ) { current, _ in
            var changed = current
            changed.recording = settings.following(isOver ? nil : current.recording)
            return changed
        }
        return try await configure(owner, change)
    }

    @Sendable private func stop(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let owner = try await owner(try context.roomID())
        let change = SettingsChange(
            precondition: try SettingsPrecondition(request.headers), summary: "recording ended by API"
        ) { current, _ in
            var changed = current
            changed.recording = nil
            return changed
        }
        let response = try await configure(owner, change)
        return Response(status: .noContent, headers: [.eTag: response.headers[.eTag] ?? ""])
    }

    private func configure(_ owner: RoomOwner, _ change: SettingsChange) async throws -> Response {
        let outcome = try await owner.configure(change, at: MonotonicClock.now())
        var response = jsonResponse(await owner.snapshot.recordingView)
        response.headers[.eTag] = outcome.tag.text
        return response
    }

    private func owner(_ room: RoomID) async throws -> RoomOwner {
        guard let owner = try await registry.reader(room), await owner.snapshot.isStored else {
            throw OrchestratorError.noRoom(room)
        }
        return owner
    }

    // MARK: - Files

    private struct List: Encodable {
        var recordings: [RecordingFileView]
        var archives: [ArchiveFileView]?
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try context.roomID()
        return jsonResponse(
            List(
                recordings: try await shelf.files(of: room).map { RecordingFileView($0, room: room) },
                archives: try await archives?.files(of: room).map { ArchiveFileView($0, room: room) }))
    }

    @Sendable private func download(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try context.roomID()
        let name = try fileName(context)
        let picture = shelf.picture(of: name, room: room)
        guard let path = picture ?? shelf.path(of: name, room: room), let file = try await OpenFile.opened(path) else {
            throw try await absence(of: name, room)
        }
        let type = picture == nil ? FileDownload.video : FileDownload.picture
        return try FileDownload(file: file, name: name, type: type).response(request)
    }

    @Sendable private func remove(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try context.roomID()
        let name = try fileName(context)
        let current = try await registry.shownState(of: room)?.room.document.settings.recording?.id
        switch try await shelf.remove(name, of: room, current: current) {
        case .removed: return Response(status: .noContent)
        case .notThere: throw Self.noFile(name, room)
        case .isBeingWritten:
            throw OrchestratorError(
                .conflict, "recording-in-progress", "The file is being written",
                detail: "\(name): end the recording first, with DELETE /v1/rooms/\(room.name)/recording")
        case .failed(let reason):
            throw OrchestratorError(
                .failed, "recording-not-removed", "The file cannot be removed",
                detail: "\(name): \(reason). Check the permissions of recording.directory")
        }
    }

    private func fileName(_ context: OrchestratorContext) throws -> String {
        let text = try context.parameters.require("file")
        return text.removingPercentEncoding ?? text
    }

    private func absence(of name: String, _ room: RoomID) async throws -> OrchestratorError {
        guard let path = shelf.path(of: name, room: room), try await shelf.isElsewhere(path) else {
            return Self.noFile(name, room)
        }
        return OrchestratorError(
            .notFound, "recording-moved", "The file exists only in the storage",
            detail: "\(name): GET /v1/rooms/\(room.name)/recordings has links to it")
    }

    private static func noFile(_ name: String, _ room: RoomID) -> OrchestratorError {
        .notFound(
            "recording", String(name.prefix(bytes: 200)),
            cure: "GET /v1/rooms/\(room.name)/recordings lists the existing ones")
    }
}

extension RoomState {
    private var recordingStatuses: [RecordingStatus] {
        tasks.flatMap { $0.status?.outputs.recordings ?? [] }
    }

    fileprivate var recordingView: RecordingView {
        RecordingView(room.document.settings.recording, recordingStatuses)
    }

    /// Whether the program's recording has ended by itself or failed for good.
    var isRecordingOver: Bool {
        guard let id = room.document.settings.recording?.id else { return false }
        return recordingStatuses.contains { status in
            status.id == id && status.source == nil && (status.state == .failed || status.state == .ended)
        }
    }

    /// Whether the recording is over, or may be. Without a relay it is not known whether a limit, which counts all parts, has
    /// been reached: the next relay would then record nothing.
    fileprivate var mayRecordingBeOver: Bool {
        guard !isRecordingOver, let recording = room.document.settings.recording else { return isRecordingOver }
        let isOnAir = tasks.contains { !$0.machine.document.isExplicit && $0.machine.document.isActive }
        return !isOnAir && (recording.maxSeconds != nil || recording.maxBytes != nil)
    }
}
