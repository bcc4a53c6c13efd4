import EventSubscription
import MixModel
import RoomService

/// Recordings of Web Call Server's interface: a task that copies one stream into a file, or the recording of a mixer's
/// task.
///
/// The recording of a stream is the task `record-ID` in its room, which ends with the stream.
struct WCSRecordings: Sendable {
    let registry: RoomRegistry
    let streams: WCSStreams

    static let prefix = "record-"

    func start(_ call: WCSCall) async throws {
        if let mixer = try await mixer(call) { return try await record(mixer, call, isOn: true) }
        let names = try await stream(call)
        let published = try await registry.snapshot(names.room)?.room.document.participant(names.user)?.streams
        guard published?.contains(where: { $0.kind == names.stream }) == true else {
            throw OrchestratorError.notFound(
                "stream", WCSStreamName.text(names), cure: "its media have not arrived yet: try again")
        }
        var settings = RoomSettings(outputs: [])
        settings.program = ProgramSettings(
            composition: .single(SourceSelection(user: names.user, kind: names.stream)))
        settings.recording = RecordingSettings().following(nil)
        // Clients expect that a recording ends with its stream.
        settings.policy.whenIdle = .finish
        settings.policy.maxIdleSeconds = 0
        _ = try await registry.owner(names.room).make(
            NewTask(id: Self.task(names), settings: settings), at: call.receivedAt)
    }

    func stop(_ call: WCSCall) async throws {
        if let mixer = try await mixer(call) { return try await record(mixer, call, isOn: false) }
        let names = try await stream(call)
        guard let (owner, _, _) = try? await registry.task(Self.task(names)),
            try await owner.stopTask(Self.task(names), at: call.receivedAt)
        else { throw Self.unknown(WCSStreamName.text(names)) }
    }

    // MARK: Parts

    private static func task(_ names: StreamNames) -> TaskID {
        TaskID(app: names.room.app, name: prefix + WCSStreams.id(of: names))
    }

    private func id(_ call: WCSCall) throws(InputError) -> String {
        try call.required("mediaSessionId", "the identifier of a stream, as in stream/find_all")
    }

    private func stream(_ call: WCSCall) async throws -> StreamNames {
        let id = try id(call)
        guard let names = try await streams.stream(id, of: call.app) else {
            throw OrchestratorError.notFound(
                "stream", id.shortened(toBytes: 100), cure: "streams are listed by /rest-api/stream/find_all")
        }
        return names
    }

    /// Returns the mixer that the call names, as `mixer/find_all` does; `nil` if it names something else.
    private func mixer(_ call: WCSCall) async throws -> TaskID? {
        let id = try id(call)
        guard id.startsInUTF8(with: WCSMixers.prefix),
            let name = try? EventParser.identifier(id, field: "mediaSessionId")
        else { return nil }
        let task = TaskID(app: call.app, name: name)
        guard let (_, view, _) = try? await registry.task(task), !WCSMixers.isOver(view.endReason) else { return nil }
        return task
    }

    private func record(_ mixer: TaskID, _ call: WCSCall, isOn: Bool) async throws {
        let (owner, _, _) = try await registry.task(mixer)
        let over = try await endedRecording(of: mixer)
        var change = SettingsChange(task: mixer, summary: "recording \(isOn ? "requested" : "ended") by API") {
            current, _ throws(OrchestratorError) in
            guard isOn || current.recording != nil else { throw Self.unknown(mixer.name) }
            var changed = current
            // A relay does not begin a recording again that is over.
            let running = current.recording.flatMap { $0.id == over ? nil : $0 }
            changed.recording = isOn ? RecordingSettings().following(running) : nil
            return changed
        }
        change.mayLeaveNoOutput = true
        _ = try await owner.configure(change, at: call.receivedAt)
    }

    /// Returns the identifier of the mix's recording if it has ended by itself or failed for good.
    private func endedRecording(of mixer: TaskID) async throws -> String? {
        let recordings = try await registry.snapshot(of: mixer)?.task(mixer)?.status?.outputs.recordings
        return recordings?.last { $0.source == nil && ($0.state == .failed || $0.state == .ended) }?.id
    }

    private static func unknown(_ name: String) -> OrchestratorError {
        .notFound("recording", name, cure: "it is not being recorded: see /rest-api/stream/startRecording")
    }
}
