import LayoutEngine

/// What a room falls back to, resolved by the owner before a machine decides.
public struct PlanningContext: Hashable, Sendable {
    /// The room's layout, looked up by name.
    public var template: LayoutTemplate
    /// For rooms that name no outputs of their own.
    public var defaultOutputs: [PlannedOutput]
    /// For rooms that name no canvas of their own.
    public var defaultCanvas: Canvas
    /// Where sources may be pulled from and outputs may push to; `nil` = anywhere.
    public var sourceReach: Reach?
    public var outputReach: Reach?
    /// Streams that were announced and do not come, or cannot be shown: they are pulled and have no place in the picture.
    public var absent: Set<SourceID>
    /// Of the streams whose pictures are known; layouts may choose by their shape.
    public var pictureSizes: [SourceID: LayoutParticipant.Size]
    /// What the machine can still carry; `nil` = a new task is never refused.
    public var admission: Admission?
    /// What its load asks of this task.
    public var load: LoadOrder
    /// Who publishes in the other rooms that the task takes streams from.
    public var others: [RoomID: [RoomStream]]
    /// Paths of checked copies of the images that the task's own panes name, by URL; one that is not there is not shown.
    public var images: [String: String]
    /// Where HLS of the room goes, absolute; `nil` = there is none.
    public var hlsDirectory: String?
    /// Where recordings go; `nil` = nothing is recorded.
    public var recordingPlace: RecordingPlace?

    public init(
        template: LayoutTemplate, defaultOutputs: [PlannedOutput], defaultCanvas: Canvas,
        sourceReach: Reach? = nil, outputReach: Reach? = nil,
        absent: Set<SourceID> = [], pictureSizes: [SourceID: LayoutParticipant.Size] = [:],
        admission: Admission? = nil, load: LoadOrder = LoadOrder(), others: [RoomID: [RoomStream]] = [:],
        images: [String: String] = [:], recordingPlace: RecordingPlace? = nil, hlsDirectory: String? = nil
    ) {
        self.template = template
        self.defaultOutputs = defaultOutputs
        self.defaultCanvas = defaultCanvas
        self.sourceReach = sourceReach
        self.outputReach = outputReach
        self.absent = absent
        self.pictureSizes = pictureSizes
        self.admission = admission
        self.load = load
        self.others = others
        self.images = images
        self.hlsDirectory = hlsDirectory
        self.recordingPlace = recordingPlace
    }
}

/// Works out what a room's program should be. Pure: the same room and context give the same program.
public enum ProgramPlanner {
    /// A plan without its revision and cause.
    public struct Program: Hashable, Sendable {
        public var mode: ProgramPlan.Mode
        public var scene: Scene
        public var sources: [PlannedSource]
        public var outputs: [PlannedOutput]
        /// Whose frame grid and sound the program follows; also who was expected but is away.
        public var host: UserID?
        /// True when the designated host is away and the policy says that the task ends then.
        public var hostLeft: Bool
        public var tracks = SourceSelection.Tracks.all
        public var encoding: EncodingSettings?
        public var sei: SEISettings?
        public var hls: PlannedHLS?
        public var recordings: [PlannedRecording]?
        /// It is one stream whatever happens.
        public var isOfOne = false

        init(
            mode: ProgramPlan.Mode, scene: Scene, sources: [PlannedSource], outputs: [PlannedOutput], host: UserID?,
            hostLeft: Bool
        ) {
            self.mode = mode
            self.scene = scene
            self.sources = sources
            self.outputs = outputs
            self.host = host
            self.hostLeft = hostLeft
        }
    }

    /// Where the room's program goes: its own outputs, otherwise the configured ones.
    public static func outputs(of room: Room, in context: PlanningContext) -> [PlannedOutput] {
        room.settings.outputs ?? context.defaultOutputs
    }

    /// What is made of the room's program on disk; `nil` = nothing.
    public static func recordings(of room: Room, in context: PlanningContext) -> [PlannedRecording]? {
        guard let settings = room.settings.recording, let place = context.recordingPlace else { return nil }
        return [place.plan(settings, of: room.id)]
    }

    public static func hls(of room: Room, in context: PlanningContext) -> PlannedHLS? {
        guard let settings = room.settings.hls, let directory = context.hlsDirectory else { return nil }
        return PlannedHLS(directory: directory, settings: settings)
    }

    /// Whether the room's program goes anywhere: without that there is no task.
    public static func hasDestination(_ room: Room, in context: PlanningContext) -> Bool {
        !outputs(of: room, in: context).isEmpty || recordings(of: room, in: context) != nil
            || hls(of: room, in: context) != nil
    }

    /// - Parameter lastHost: The host of the program so far: remembered so that "first to publish" does not change
    ///   while they are there, and so that the policy knows who left.
    public static func program(for room: Room, context: PlanningContext, lastHost: UserID?) -> Program {
        let settings = room.settings.program
        var program =
            switch settings?.composition ?? .automatic {
            case .automatic: automatic(for: room, context: context, lastHost: lastHost)
            case .single(let selection): single(selection, for: room, context: context, lastHost: lastHost)
            case .fixed(let composition): fixed(composition, for: room, context: context, lastHost: lastHost)
            }
        program.tracks = settings?.tracks ?? .all
        if case .single = settings?.composition { program.isOfOne = true }
        program.encoding = settings?.encoding
        program.sei = settings?.sei
        program.hls = hls(of: room, in: context)
        program.recordings = recordings(of: room, in: context)
        return program
    }

    /// By the people in the room and the layout.
    private static func automatic(for room: Room, context: PlanningContext, lastHost: UserID?) -> Program {
        let isAudioOnly = room.settings.program?.tracks == .audio
        let streams =
            isAudioOnly
            ? room.streams.map { ProgramStream(source: $0, tracks: .audio).roomStream } : room.streams
        func isPresent(_ user: UserID?) -> Bool { streams.contains { $0.user == user } }
        let designated = room.settings.host ?? streams.first { $0.role == .host }?.user
        let firstToPublish = streams.min { $0.stream.publishOrder < $1.stream.publishOrder }?.user

        var host = [designated, lastHost].compactMap(\.self).first(where: isPresent)
        var hostIsAway = false
        if host == nil {
            // Until somebody has been host, nobody can have left.
            switch room.settings.policy.whenHostLeaves {
            case _ where lastHost == nil: host = firstToPublish
            case .promote: host = streams.first?.user
            case .slate, .stop: hostIsAway = true
            }
        }

        let canvas = context.template.canvas(over: room.settings.canvas ?? context.defaultCanvas).withinLimits
        var program = Program(
            mode: .slate, scene: Scene(canvas: canvas, panes: []),
            sources: streams.map {
                PlannedSource(
                    id: $0.id, url: $0.stream.url, audio: $0.stream.audio, video: $0.stream.video,
                    tracks: isAudioOnly ? .audio : nil)
            },
            outputs: outputs(of: room, in: context), host: host ?? lastHost,
            hostLeft: hostIsAway && room.settings.policy.whenHostLeaves == .stop)
        let present = streams.filter { !context.absent.contains($0.id) }
        let shown = present.isEmpty ? streams : present
        guard !hostIsAway, let followed = followed(among: shown, host: host) else { return program }
        program.scene = LayoutEngine.plan(
            context.template,
            participants: shown.map { LayoutParticipant($0, host: host, pictureSize: context.pictureSizes[$0.id]) },
            canvas: room.settings.canvas ?? context.defaultCanvas)
        program.scene.name(absenteesOf: room)
        if isAudioOnly {
            program.scene = Scene(canvas: canvas, panes: [], sound: program.scene.sound)
            let isAlone = shown.count == 1 && room.settings.policy.bypass == .auto
            program.mode = isAlone ? .bypass(followed.id) : .mix(host: followed.id)
        } else if shown.count == 1, followed.stream.video, room.settings.policy.bypass == .auto {
            program.mode = .bypass(followed.id)
        } else if followed.stream.video || !program.scene.panes.isEmpty {
            program.mode = .mix(host: followed.id)
        }
        return program
    }

    /// The stream whose frame grid and sound a mix follows: the host's picture, otherwise the first there is. Without
    /// any picture somebody's sound is followed, the host's if they are heard.
    private static func followed(among streams: [RoomStream], host: UserID?) -> RoomStream? {
        let withVideo = streams.filter(\.stream.video)
        return [withVideo, streams].lazy.compactMap { candidates in
            candidates.first { $0.user == host } ?? candidates.first
        }.first
    }
}

extension LayoutParticipant {
    /// The program's host has the role `host` whatever the room says, and comes before all others who have it.
    fileprivate init(_ stream: RoomStream, host: UserID?, pictureSize: Size?) {
        let isHost = stream.user == host
        self.init(
            source: stream.id.rawValue, user: stream.user.rawValue, name: stream.name,
            role: isHost ? .host : stream.role ?? .guest, kind: stream.stream.kind,
            joinOrder: isHost ? Int.min : stream.joinOrder, hasVideo: stream.stream.video,
            hasAudio: stream.stream.audio, pictureSize: pictureSize)
    }
}

extension Scene {
    /// A layout knows people by their streams. Somebody who is in the room without one that is shown, and whose pane
    /// is kept, is called there what the room calls them.
    fileprivate mutating func name(absenteesOf room: Room) {
        for index in panes.indices where !panes[index].isLive {
            let user = UserID(panes[index].user)
            guard let name = room.participant(user)?.name else { continue }
            panes[index].card = Card(name: name, user: user.rawValue)
            if panes[index].label?.text == user.rawValue { panes[index].label?.text = name }
        }
    }
}
