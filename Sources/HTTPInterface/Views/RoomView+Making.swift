import EventSubscription
import MixModel
import RoomService

extension RoomView {
    init(_ room: Room, _ tasks: [OwnedTask], services: RoomServices) {
        let automatic = tasks.first { !$0.machine.document.isExplicit }
        let views = tasks.compactMap { TaskView($0, room: room, services: services) }
        id = room.id.name
        open = room.isOpen
        host = room.settings.host ?? automatic?.machine.document.host
        layout = services.layoutName(of: room)
        params = services.shownParams(of: room)
        canvas = room.settings.canvas ?? services.defaultCanvas
        policy = room.settings.policy
        program = room.settings.program.map(ProgramView.init)
        idle = room.settings.idle.map(IdleView.init)
        outputs = services.outputs(of: room).map(Output.init)
        let statuses = tasks.compactMap(\.status)
        // Each relay pulls the streams separately. The view shows the first relay's report of a stream.
        let sources = Dictionary(statuses.flatMap(\.sources).map { ($0.id.whole, $0) }) { first, _ in first }
        playback = Playback(
            flv: "\(room.id.livePath).flv",
            hls: room.settings.hls == nil ? nil : "\(room.id.livePath)/index.m3u8",
            rtmp: services.rtmpPlace.map { $0 + room.id.programPath })
        participants = room.participants.map { Person($0, sources, room.control(of: $0.user)) }
        controls = Control.all(of: room)
        task = views.first { $0.kind == .automatic }
        self.tasks = views.map(\.id)
        viewers = views.reduce(0) { $0 + $1.viewers }
        let states = ServiceStates(tasks)
        rtmp = ServiceDocument(states.rtmp)
        recording = ServiceDocument(states.recording)
        browserRecording = recording
        serverRecording = ServiceDocument(states.streamRecordings)
        hls = HLSView(automatic?.status?.outputs.hls, settings: room.settings.hls, room: room.id)
    }
}

extension RoomView.Output {
    init(_ output: PushDestination) {
        self.init(id: output.id, url: StreamURL.redacted(output.url), retry: output.retry)
    }
}

extension RoomView.Control {
    init(_ control: ParticipantControl) {
        self.init(user: control.user, muted: control.muted, gain: control.gain, hidden: control.hidden)
    }

    /// Returns all settings for users of a room; `nil` if there are none.
    static func all(of room: Room) -> [Self]? {
        let controls = room.allControls
        return controls.isEmpty ? nil : controls.map(Self.init)
    }
}

extension RoomView.Person {
    /// - Parameter sources: States of the sources of the room's relays.
    fileprivate init(
        _ person: Participant, _ sources: [SourceID: SourceStatus], _ control: ParticipantControl
    ) {
        self.init(
            user: person.user, name: person.name, role: person.role, joinOrder: person.joinOrder,
            streams: person.streams.map { stream in
                let actual = sources[SourceID(user: person.user, stream: stream.kind)]
                return RoomView.Stream(
                    stream: stream.kind, url: StreamURL.redacted(stream.url), audio: stream.audio,
                    video: stream.video, state: actual?.state, error: actual?.error.map(Redaction.text),
                    backup: stream.backup.map(StreamURL.redacted))
            }, muted: control.muted, gain: control.gain, hidden: control.hidden)
    }
}

extension RoomState {
    /// Returns the room's view, or `nil` if the room has neither settings nor events.
    func roomView(_ services: RoomServices) -> (view: RoomView, tag: SettingsTag)? {
        guard isStored else { return nil }
        return (
            RoomView(room.document, shownTasks(at: wallClock()), services: services),
            SettingsTag(room.document.settingsVersion)
        )
    }

    /// Returns the task's view, or `nil` if the task does not exist or is automatic and has never had a plan.
    func taskView(_ id: TaskID, _ services: RoomServices) -> (view: TaskView, tag: SettingsTag)? {
        guard let task = shownTasks(at: wallClock()).first(where: { $0.id == id }),
            let view = TaskView(task, room: room.document, services: services)
        else { return nil }
        let machine = task.machine.document
        return (view, SettingsTag(machine.isExplicit ? machine.settingsVersion : room.document.settingsVersion))
    }

    /// Returns the views of all tasks: the automatic one first, then the others in the order of their creation.
    func taskViews(_ services: RoomServices) -> [TaskView] {
        shownTasks(at: wallClock()).compactMap { TaskView($0, room: room.document, services: services) }
    }
}
