import LayoutEngine
import TextFormats

/// The defaults and facts with which a room's program is planned, resolved by the owner before a machine decides.
public struct PlanningContext: Hashable, Sendable {
    /// The room's layout, looked up by name.
    public var template: LayoutTemplate
    /// Values that the layout's texts show.
    public var values = LayoutValues()
    /// Outputs of rooms that name none of their own.
    public var defaultOutputs: [PushDestination]
    /// Whether a program without outputs is made for viewers of the service itself.
    public var playsWithoutOutputs = false
    /// Canvas of rooms that name none of their own.
    public var defaultCanvas: RoomCanvas
    /// Addresses that sources may be pulled from and outputs pushed to; `nil` means anywhere.
    public var sourceReach: Reach?
    public var outputReach: Reach?
    /// Streams that were announced but do not arrive, or cannot be shown. They are pulled, but have no place in the
    /// picture.
    public var absent: Set<SourceID>
    /// Picture sizes of the streams for which they are known; layouts may choose by shape.
    public var pictureSizes: [SourceID: LayoutParticipant.Size]
    /// Pictures per second of the streams for which they are known.
    public var frameRates: [SourceID: Int] = [:]
    /// Canvas of the program so far; `nil` if there is none. A canvas that follows the host keeps this one while the
    /// host's picture is not known.
    public var canvasSoFar: Canvas?
    /// Remaining capacity of the machine; `nil` means that a new task is never refused.
    public var admission: Admission?
    /// Restrictions that the machine's load imposes on this task.
    public var load: LoadOrder
    /// Streams published in the other rooms from which the task uses streams.
    public var others: [RoomID: [RoomStream]]
    /// Paths of checked copies of the images named by the task's own panes, by URL. An image without a path is not
    /// shown.
    public var images: [String: String]
    /// Places for outputs.
    public var places: OutputPlaces
    /// Paths of local files with the room's idle media, by reference. A medium without a path is not played.
    public var media: [String: String]
    /// Time of day, in seconds since 1970, for schedules.
    public var wallClock: Double

    public init(
        template: LayoutTemplate, defaultOutputs: [PushDestination], defaultCanvas: RoomCanvas,
        sourceReach: Reach? = nil, outputReach: Reach? = nil,
        absent: Set<SourceID> = [], pictureSizes: [SourceID: LayoutParticipant.Size] = [:],
        admission: Admission? = nil, load: LoadOrder = LoadOrder(), others: [RoomID: [RoomStream]] = [:],
        images: [String: String] = [:], places: OutputPlaces = OutputPlaces(),
        media: [String: String] = [:], wallClock: Double = 0
    ) {
        self.wallClock = wallClock
        self.media = media
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
        self.places = places
    }
}

/// Plans the program of a room. Pure: the same room and context give the same program.
public enum ProgramPlanner {
    /// A plan without its revision and cause.
    public struct Program: Hashable, Sendable {
        public var mode: ProgramPlan.Mode
        public var scene: Scene
        public var sources: [PlannedSource]
        public var outputs: [PlannedOutput] = []
        /// Participant whose frame grid and audio format the program follows, even while they are expected but away.
        public var host: UserID?
        /// Whether the designated host is away and the policy therefore ends the task.
        public var hostLeft: Bool
        public var tracks = SourceSelection.Tracks.all
        public var encoding: EncodingSettings?
        public var sei: SEISettings?
        /// Whether the program always consists of one stream.
        public var isOfOne = false
        public var idle: IdlePlan?
        public var quality: QualityLimits?
        public var redundancy: MixRedundancy?

        init(
            mode: ProgramPlan.Mode, scene: Scene, sources: [PlannedSource], host: UserID?, hostLeft: Bool
        ) {
            self.mode = mode
            self.scene = scene
            self.sources = sources
            self.host = host
            self.hostLeft = hostLeft
        }
    }

    /// Returns whether the room's program has a destination: it has an output, or may be watched without any. Otherwise there
    /// is no task.
    public static func hasDestination(_ room: Room, in context: PlanningContext) -> Bool {
        context.playsWithoutOutputs && room.settings.outputs == nil
            || OutputPlanner.kinds.contains { !$0.planned(for: room, in: context).isEmpty }
    }

    /// Returns the program of a room.
    ///
    /// - Parameter lastHost: Host of the program so far. It is remembered so that "first to publish" does not change
    ///   while they are present, and so that the policy knows who left.
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
        program.quality = room.settings.policy.quality
        program.redundancy = room.settings.policy.redundancy
        program.outputs = OutputPlanner.outputs(of: room, in: context)
        program.playIdleMedia(of: room, in: context)
        return program
    }

    /// Returns the program that follows from the participants in the room and the layout.
    private static func automatic(for room: Room, context: PlanningContext, lastHost: UserID?) -> Program {
        let isAudioOnly = room.settings.program?.tracks == .audio
        let streams =
            isAudioOnly
            ? room.shownStreams.map { ProgramStream(source: $0, tracks: .audio).roomStream } : room.shownStreams
        func isPresent(_ user: UserID?) -> Bool { streams.contains { $0.user == user } }
        let designated = room.settings.host ?? streams.first { $0.role == .host }?.user
        let firstToPublish = streams.min { $0.stream.publishOrder < $1.stream.publishOrder }?.user

        var host = [designated, lastHost].compactMap(\.self).first(where: isPresent)
        var hostIsAway = false
        if host == nil {
            // Before there has been a host, no host can have left.
            switch room.settings.policy.whenHostLeaves {
            case _ where lastHost == nil: host = firstToPublish
            case .promote: host = streams.first?.user
            case .slate, .stop: hostIsAway = true
            }
        }

        let present = streams.filter { !context.absent.contains($0.id) }
        let shown = present.isEmpty ? streams : present
        let followed = hostIsAway ? nil : followed(among: shown, host: host)
        let chosen = context.canvas(of: room, following: followed?.id)
        let canvas = context.template.canvas(over: chosen).withinLimits
        var program = Program(
            mode: .slate, scene: Scene(canvas: canvas, panes: []),
            sources: streams.map {
                PlannedSource(
                    id: $0.id, url: $0.stream.url, audio: $0.isHeard, video: $0.stream.video,
                    tracks: isAudioOnly ? .audio : nil, backup: $0.stream.backup, muted: $0.level == 0 ? true : nil,
                    name: $0.name)
            },
            host: host ?? lastHost,
            hostLeft: hostIsAway && room.settings.policy.whenHostLeaves == .stop)
        guard let followed else {
            if !isAudioOnly { program.scene = LayoutEngine.slate(context.template, canvas: chosen) }
            return program
        }
        program.scene = LayoutEngine.plan(
            context.template,
            participants: shown.map { LayoutParticipant($0, host: host, pictureSize: context.pictureSizes[$0.id]) },
            canvas: chosen, values: context.values)
        program.scene.sound.apply(Dictionary(shown.map { ($0.id, $0.level) }) { first, _ in first })
        program.scene.name(absenteesOf: room)
        // A copy has the loudness with which its publisher sends it.
        let mayCopy = room.settings.policy.bypass == .auto && !followed.needsMix
        if isAudioOnly {
            program.scene = Scene(canvas: canvas, panes: [], sound: program.scene.sound)
            program.mode = shown.count == 1 && mayCopy ? .bypass(followed.id) : .mix(host: followed.id)
        } else if shown.count == 1, followed.stream.video, mayCopy {
            program.mode = .bypass(followed.id)
        } else if followed.stream.video || !program.scene.panes.isEmpty {
            program.mode = .mix(host: followed.id)
        }
        return program
    }

    /// Returns the stream whose frame grid and audio format a mix follows: the host's picture, otherwise the first
    /// picture. Without any picture it is an audio stream, preferably the host's.
    private static func followed(among streams: [RoomStream], host: UserID?) -> RoomStream? {
        let withVideo = streams.filter(\.stream.video)
        return [withVideo, streams].lazy.compactMap { candidates in
            candidates.first { $0.user == host } ?? candidates.first
        }.first
    }
}

extension LayoutParticipant {
    /// Creates a participant for a layout. The program's host has the role `host` regardless of the room's roles, and
    /// comes before all others with that role.
    fileprivate init(_ stream: RoomStream, host: UserID?, pictureSize: Size?) {
        let isHost = stream.user == host
        self.init(
            source: stream.id.rawValue, user: stream.user.rawValue, name: stream.name,
            role: isHost ? .host : stream.role ?? .guest, kind: stream.stream.kind,
            joinOrder: isHost ? Int.min : stream.joinOrder, hasVideo: stream.stream.video,
            hasAudio: stream.isHeard, pictureSize: pictureSize)
    }
}

extension SceneSound {
    /// Applies operators' controls in addition to the layout's settings. Sources that are not listed stay unchanged.
    ///
    /// - Parameter levels: Loudness by source in percent, 0…400.
    mutating func apply(_ levels: [SourceID: Int]) {
        guard levels.contains(where: { $0.value != ParticipantControl.usualGain }) else { return }
        self.levels = self.levels.compactMap { level in
            guard let percent = levels[SourceID(level.source)] else { return level }
            guard percent > 0 else { return nil }
            var level = level
            level.gain = min(max(level.gain * percent / 100, 1), ParticipantControl.gains.upperBound)
            return level
        }
    }
}

extension Scene {
    /// Names kept panes after the participants in the room who have no stream on show. A layout knows participants only
    /// by their streams; the room knows their names.
    fileprivate mutating func name(absenteesOf room: Room) {
        for index in panes.indices where !panes[index].isLive {
            let user = UserID(panes[index].user)
            guard !room.isHidden(user), let name = room.participant(user)?.name else { continue }
            panes[index].card = Card(name: name, user: user.rawValue, style: panes[index].card.style)
            if panes[index].label?.text == user.rawValue { panes[index].label?.text = name }
        }
    }
}
