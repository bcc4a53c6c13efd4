import EventSubscription
import LayoutEngine
import MixModel
import RoomService

/// Mixers of Web Call Server's interface: explicit tasks that mix the streams that callers add, in a grid.
///
/// The mixer `mixer://NAME` is the task `mixer-NAME` in the room of its `localStreamName`. Nothing else is kept.
struct WCSMixers: Sendable {
    let registry: RoomRegistry
    let canvas: Canvas
    let names: WCSServer.Names

    static let prefix = "mixer-"

    func start(_ call: WCSCall) async throws {
        let id = try task(call)
        let room = RoomID(
            app: call.app,
            name: try EventParser.identifier(
                try call.required("localStreamName", "the name of the mixer's stream"), field: "localStreamName"))
        var settings = RoomSettings(outputs: [])
        var program = ProgramSettings(composition: .fixed(Self.composition([])))
        var encoding = EncodingSettings()
        encoding.audioOnly = call.fields.flag("hasVideo") == false
        if let kilobits = try call.integer("mixerVideoBitrateKbps", in: 100...20_000) {
            encoding.videoBitrate = kilobits * 1000
        }
        program.encoding = encoding
        settings.program = program
        settings.canvas = try size(call)
        let creation = try await registry.owner(room).make(NewTask(id: id, settings: settings), at: call.receivedAt)
        guard creation == .made else {
            throw OrchestratorError(
                .conflict, "task-exists", "The mixer exists",
                detail: "mixer://\(id.name.dropFirst(Self.prefix.count)) runs: end it with /rest-api/mixer/terminate",
                field: "uri")
        }
    }

    private func size(_ call: WCSCall) throws(InputError) -> RoomCanvas? {
        let width = try call.integer("mixerVideoWidth", in: 16...3840)
        let height = try call.integer("mixerVideoHeight", in: 16...3840)
        let fps = try call.integer("mixerVideoFps", in: 1...60)
        guard width != nil || height != nil || fps != nil else { return nil }
        return RoomCanvas(
            Canvas(
                width: (width ?? canvas.width) & ~1, height: (height ?? canvas.height) & ~1, fps: fps ?? canvas.fps,
                background: canvas.background))
    }

    /// Adds streams to a mixer, or removes them.
    func change(_ call: WCSCall, adds: Bool) async throws {
        let id = try task(call)
        let (owner, view, _) = try await registry.task(id)
        guard !Self.isOver(view.endReason) else { throw Self.unknown(id) }
        let chosen = try streams(call).map { SourceSelection(room: $0.room, user: $0.user, kind: $0.stream) }
        if adds {
            for source in chosen where try await !isThere(source) { throw Self.unknownStream(source) }
        }
        var change = SettingsChange(
            task: id, summary: "streams \(adds ? "added to" : "removed from") the mixer by API"
        ) { settings, _ throws(OrchestratorError) in
            guard case .fixed(let fixed)? = settings.program?.composition else { throw Self.unknown(id) }
            var sources = fixed.sources ?? []
            if adds {
                for source in chosen where !sources.contains(source) { sources.append(source) }
            } else {
                for source in chosen where !sources.contains(source) { throw Self.unknownStream(source) }
                sources.removeAll(where: chosen.contains)
            }
            guard sources.count <= FixedComposition.mostPanes else {
                throw OrchestratorError(
                    .conflict, "mixer-full", "The mixer has the maximum number of streams",
                    detail: "a mixer shows at most \(FixedComposition.mostPanes) streams: remove one first")
            }
            var changed = settings
            changed.program?.composition = .fixed(Self.composition(sources))
            return changed
        }
        change.mayLeaveNoOutput = true
        _ = try await owner.configure(change, at: call.receivedAt)
    }

    func stop(_ call: WCSCall) async throws {
        let id = try task(call)
        let (owner, view, _) = try await registry.task(id)
        guard !Self.isOver(view.endReason), try await owner.stopTask(id, at: call.receivedAt) else {
            throw Self.unknown(id)
        }
    }

    /// Returns one entry for each stream of each mixer, and one for a mixer without streams.
    func list(_ call: WCSCall) async throws -> [JSONValue] {
        var entries: [JSONValue] = []
        for id in registry.services.taskIndex.tasks(of: call.app) where id.name.startsInUTF8(with: Self.prefix) {
            guard let (_, view, _) = try? await registry.task(id), !Self.isOver(view.endReason),
                let settings = try await registry.snapshot(of: id)?.task(id)?.machine.document.settings,
                case .fixed(let fixed)? = settings.program?.composition
            else { continue }
            let chosen = fixed.sources ?? []
            let sources: [SourceSelection?] = chosen.isEmpty ? [nil] : chosen
            for source in sources {
                var entry: [String: JSONValue] = [
                    "localMediaSessionId": .string(id.name), "localStreamName": .string(view.room),
                    "uri": .string("mixer://" + id.name.dropFirst(Self.prefix.count)),
                    "status": .string("PROCESSED_LOCAL"), "mediaSessions": .array([]),
                    "hasAudio": .boolean(true), "hasVideo": .boolean(settings.program?.encoding?.audioOnly != true),
                    "record": .boolean(false),
                ]
                if let source, let room = source.room {
                    entry["remoteStreamName"] = .string(
                        WCSStreamName.text(
                            StreamNames(room: room, user: source.user, stream: source.kind ?? .camera)))
                }
                entries.append(.object(entry))
            }
        }
        return entries
    }

    /// Returns the mixer whose stream has this name.
    func mixer(ofStream name: String, app: AppID) async -> TaskID? {
        for id in registry.services.taskIndex.tasks(of: app) where id.name.startsInUTF8(with: Self.prefix) {
            guard let (_, view, _) = try? await registry.task(id), !Self.isOver(view.endReason) else { continue }
            if view.room.hasSameUTF8(as: name) { return id }
        }
        return nil
    }

    // MARK: Parts

    /// Returns whether a task of this interface has ended for good: other tasks continue with a push, a stream, or free
    /// capacity on the machine.
    static func isOver(_ reason: EndReason?) -> Bool {
        switch reason {
        case nil, .idle?, .roomClosed?, .hostLeft?, .noOutputs?, .noCapacity?: false
        case .requested?, .roomDeleted?, .scheduled?: true
        }
    }

    private func task(_ call: WCSCall) throws(InputError) -> TaskID {
        TaskID(app: call.app, name: Self.prefix + (try call.name(inURI: "uri", scheme: "mixer")))
    }

    private func streams(_ call: WCSCall) throws(InputError) -> [StreamNames] {
        var texts: [String] = []
        if case .array(let elements)? = call.fields["streams"] {
            guard elements.count <= FixedComposition.mostPanes else {
                throw InputError(
                    .invalidField, field: "streams", expected: "at most \(FixedComposition.mostPanes) names")
            }
            for case .string(let text) in elements { texts.append(text) }
        } else {
            texts = [try call.required("remoteStreamName", "the name of a stream, as user#room")]
        }
        guard !texts.isEmpty else { throw InputError(.missingField, field: "streams", expected: "names of streams") }
        return try texts.map { text throws(InputError) in
            switch names(text, call.app) {
            case .success(let found): return found
            case .failure(let reason):
                throw InputError(.invalidField, field: "remoteStreamName", expected: "a name in a room: \(reason.text)")
            }
        }
    }

    private func isThere(_ source: SourceSelection) async throws -> Bool {
        guard let room = source.room else { return false }
        let streams = try await registry.snapshot(room)?.room.document.participant(source.user)?.streams
        return streams?.contains { $0.kind == source.kind } ?? false
    }

    /// Returns a grid of equal panes, as square as possible, with the streams in their order.
    static func composition(_ sources: [SourceSelection]) -> FixedComposition {
        let count = max(1, sources.count)
        var columns = 1
        while columns * columns < count { columns += 1 }
        let rows = (count + columns - 1) / columns
        let panes = (0..<count).map { index in
            FixedPane(
                x: UnitFraction(Double(index % columns) / Double(columns)),
                y: UnitFraction(Double(index / columns) / Double(rows)), width: UnitFraction(1 / Double(columns)),
                height: UnitFraction(1 / Double(rows)), fit: .contain,
                source: sources.indices.contains(index) ? sources[index] : nil)
        }
        return FixedComposition(sources: sources, panes: panes)
    }

    private static func unknown(_ id: TaskID) -> OrchestratorError {
        .notFound("mixer", String(id.name.dropFirst(prefix.count)), cure: "start it with /rest-api/mixer/startup")
    }

    private static func unknownStream(_ source: SourceSelection) -> OrchestratorError {
        .notFound(
            "stream", "\(source.user.rawValue)#\(source.room?.name ?? "")",
            cure: "streams are named as in /rest-api/stream/find_all")
    }
}
