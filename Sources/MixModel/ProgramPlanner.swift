import LayoutEngine

/// What a room falls back to, resolved by the owner before a machine decides.
public struct PlanningContext: Hashable, Sendable {
    /// The room's layout, looked up by name.
    public var template: LayoutTemplate
    /// For rooms that name no outputs of their own.
    public var defaultOutputs: [PlannedOutput]
    /// For rooms that name no canvas of their own.
    public var defaultCanvas: Canvas
    /// Streams that were announced and do not come, or cannot be shown: they are pulled and have no place in the picture.
    public var absent: Set<SourceID>

    public init(
        template: LayoutTemplate, defaultOutputs: [PlannedOutput], defaultCanvas: Canvas, absent: Set<SourceID> = []
    ) {
        self.template = template
        self.defaultOutputs = defaultOutputs
        self.defaultCanvas = defaultCanvas
        self.absent = absent
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
    }

    /// Where the room's program goes: its own outputs, otherwise the configured ones.
    public static func outputs(of room: Room, in context: PlanningContext) -> [PlannedOutput] {
        room.settings.outputs ?? context.defaultOutputs
    }

    /// - Parameter lastHost: The host of the program so far: remembered so that "first to publish" does not change
    ///   while they are there, and so that the policy knows who left.
    public static func program(for room: Room, context: PlanningContext, lastHost: UserID?) -> Program {
        let streams = room.streams
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
                PlannedSource(id: $0.id, url: $0.stream.url, audio: $0.stream.audio, video: $0.stream.video)
            },
            outputs: outputs(of: room, in: context), host: host ?? lastHost,
            hostLeft: hostIsAway && room.settings.policy.whenHostLeaves == .stop)
        let present = streams.filter { !context.absent.contains($0.id) }
        let shown = present.isEmpty ? streams : present
        let withVideo = shown.filter(\.stream.video)
        guard !hostIsAway, let grid = withVideo.first(where: { $0.user == host }) ?? withVideo.first else {
            return program
        }
        program.scene = LayoutEngine.plan(
            context.template, participants: shown.map { LayoutParticipant($0, host: host) },
            canvas: room.settings.canvas ?? context.defaultCanvas)
        let isAlone = shown.count == 1
        program.mode =
            isAlone && room.settings.policy.bypass == .auto ? .bypass(grid.id) : .mix(host: grid.id)
        return program
    }
}

extension LayoutParticipant {
    /// Only the program's host has the role `host` in a scene: layouts give the first place to one person.
    fileprivate init(_ stream: RoomStream, host: UserID?) {
        self.init(
            source: stream.id.rawValue, user: stream.user.rawValue, role: stream.user == host ? .host : .guest,
            joinOrder: stream.joinOrder, hasVideo: stream.stream.video, hasAudio: stream.stream.audio)
    }
}
