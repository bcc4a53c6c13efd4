import EventSubscription
import Foundation
import LayoutEngine
import MixModel
import TaskStore

/// A task as the API shows it. URLs are redacted.
struct TaskView: Encodable {
    enum State: String, Encodable, CaseIterable {
        case starting, running, recovering, stopped, failed
    }
    struct Passthrough: Encodable {
        var video: Bool
        var audio: Bool
        /// Why not, where false.
        var reason: String?
    }
    struct Output: Encodable {
        var id: OutputID
        var url: String
        var state: OutputStatus.State
        var connectedSince: Date?
        var reconnects: Int
        var bytesSent: Int64
        var lastError: String?
    }
    struct Source: Encodable {
        var id: SourceID
        var url: String
        var state: SourceStatus.State
        var error: String?
    }
    struct Switch: Encodable {
        var at: Date
        var from: OnAir?
        var to: OnAir
        var cause: String
        var latencyMs: Double
        var afterKeyframeMs: Double?
        var videoGapMs: Double
        var audioGapMs: Double?
    }

    /// How a mix is made cheaper while the machine carries too much.
    struct Thrift: Encodable {
        /// 1…4.
        var level: Int
        /// Frames of the canvas made in a second.
        var fps: Double
        var reason: String
    }

    var id: TaskID
    var room: RoomID
    var state: State
    var endReason: EndReason?
    var lastError: String?
    /// 0 = bypass, 1 = mix: what is asked for.
    var mixMode: Int
    var host: UserID?
    /// What viewers get; `nil` while no relay tells.
    var onAir: OnAir?
    var passthrough: Passthrough
    /// Of the picture on air; absent in bypass.
    var scene: Scene?
    var sources: [Source]
    var outputs: [Output]
    /// Newest first.
    var switches: [Switch]
    var revision: Int
    /// The newest plan that the relay has taken up.
    var appliedRevision: Int?
    var relayProcess: Int32?
    /// In seconds.
    var programTime: Double?
    /// 0…9.
    var priority: Int
    /// Absent while the program is whole.
    var degradation: Thrift?
}

extension TaskView.Thrift {
    init?(_ plan: ProgramPlan) {
        guard let degradation = plan.degradation else { return nil }
        self.init(
            level: degradation.level, fps: Double(plan.scene.canvas.fps) / Double(degradation.frameDivisor),
            reason: degradation.reason)
    }
}

/// A room as the API shows it. URLs are redacted.
struct RoomView: Encodable {
    struct Stream: Encodable {
        var stream: StreamKind
        var url: String
        var audio: Bool
        var video: Bool
        /// As the relay tells; absent while there is none.
        var state: SourceStatus.State?
        /// Why it cannot be shown, in words.
        var error: String?
    }
    struct Person: Encodable {
        var user: UserID
        var name: String?
        var role: Role?
        var joinOrder: Int
        var streams: [Stream]
    }
    struct Running: Encodable {
        struct Failure: Encodable {
            var code: String
            var message: String
        }
        var running: Bool
        var error: Failure?

        enum CodingKeys: CodingKey { case running, error }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(running, forKey: .running)
            try container.encode(error, forKey: .error)
        }
    }
    struct Output: Encodable {
        var id: OutputID
        var url: String
    }

    var id: RoomID
    var open: Bool
    var host: UserID?
    var layout: String
    var canvas: Canvas
    var policy: RoomPolicy
    var outputs: [Output]
    var participants: [Person]
    var task: TaskView?
    var rtmp: Running
    var recording: Running
    var hls: Running
}

extension RoomOwner {
    /// `nil` when the room was neither made nor told of.
    func roomView(_ services: RoomServices) -> RoomView? {
        guard room.version > 0 else { return nil }
        let document = room.document
        let context = services.context(for: document)
        let task = taskView()
        let isLive = task?.outputs.contains { $0.state == .live } ?? false
        return RoomView(
            id: document.id, open: document.isOpen, host: document.settings.host ?? self.task.document.host,
            layout: services.layoutName(of: document),
            canvas: document.settings.canvas ?? services.defaultCanvas, policy: document.settings.policy,
            outputs: ProgramPlanner.outputs(of: document, in: context).map {
                RoomView.Output(id: $0.id, url: StreamURL.redacted($0.url))
            },
            participants: document.participants.map { person in
                RoomView.Person(
                    user: person.user, name: person.name, role: person.role, joinOrder: person.joinOrder,
                    streams: person.streams.map { stream in
                        let id = SourceID(user: person.user, stream: stream.kind)
                        let actual = status?.sources.first { $0.id == id }
                        return RoomView.Stream(
                            stream: stream.kind, url: StreamURL.redacted(stream.url), audio: stream.audio,
                            video: stream.video, state: actual?.state, error: actual?.error.map(Redaction.text))
                    })
            },
            task: task, rtmp: RoomView.Running(running: isLive, error: Self.failure(of: task)),
            recording: RoomView.Running(running: false), hls: RoomView.Running(running: false))
    }

    /// The destination's own trouble first, otherwise the task's.
    private static func failure(of task: TaskView?) -> RoomView.Running.Failure? {
        if let output = task?.outputs.first(where: { $0.lastError != nil && $0.state != .live }) {
            return RoomView.Running.Failure(code: "output-\(output.state.rawValue)", message: output.lastError ?? "")
        }
        return task?.lastError.map {
            RoomView.Running.Failure(code: "task-\(task?.state.rawValue ?? "failed")", message: $0)
        }
    }

    /// `nil` when the room never had a task.
    var taskState: TaskView.State? { hasTask ? Self.state(of: task.document).0 : nil }

    private var hasTask: Bool { task.document.revision > 0 || task.document.awaitsCapacity }

    /// `nil` when the room never had a task.
    func taskView() -> TaskView? {
        let machine = task.document
        guard hasTask else { return nil }
        let (state, endReason) = Self.state(of: machine)
        let plan = machine.plan
        var mixMode = 0
        if case .mix = plan?.mode { mixMode = 1 }
        return TaskView(
            id: machine.id, room: machine.room, state: state, endReason: endReason,
            lastError: machine.lastError ?? status?.mixerError.map(Redaction.text),
            mixMode: mixMode, host: machine.host, onAir: status?.onAir, passthrough: passthrough(plan),
            scene: status?.onAir == .bypass ? nil : status?.scene ?? (mixMode == 1 ? plan?.scene : nil),
            sources: (plan?.sources ?? []).map { source in
                let actual = status?.sources.first { $0.id == source.id }
                return TaskView.Source(
                    id: source.id, url: StreamURL.redacted(source.url), state: actual?.state ?? .connecting,
                    error: actual?.error.map(Redaction.text))
            },
            outputs: (plan?.outputs ?? []).map { output in
                let actual = status?.outputs.first { $0.id == output.id }
                return TaskView.Output(
                    id: output.id, url: StreamURL.redacted(output.url), state: actual?.state ?? .connecting,
                    connectedSince: actual?.connectedSince.map { Date(timeIntervalSince1970: $0) },
                    reconnects: actual?.reconnects ?? 0, bytesSent: actual?.bytesSent ?? 0,
                    lastError: actual?.lastError.map(Redaction.text))
            },
            switches: switches.reversed().map {
                TaskView.Switch(
                    at: Date(timeIntervalSince1970: $0.wallClock), from: $0.from, to: $0.to, cause: $0.cause,
                    latencyMs: $0.latencyMs, afterKeyframeMs: $0.afterKeyframeMs, videoGapMs: $0.videoGapMs,
                    audioGapMs: $0.audioGapMs)
            },
            revision: machine.revision, appliedRevision: status?.revision, relayProcess: status?.processID,
            programTime: status?.programTime.inSeconds, priority: room.document.settings.policy.priority,
            degradation: plan.flatMap(TaskView.Thrift.init))
    }

    private func passthrough(_ plan: ProgramPlan?) -> TaskView.Passthrough {
        switch status?.onAir {
        case .bypass:
            return TaskView.Passthrough(video: true, audio: true)
        case .mix:
            let reason =
                switch (plan?.sources.count, plan?.sources.first?.video) {
                case (1, false?): "the only camera is off: a card is shown"
                case (1, _): "the room's policy is bypass: never"
                default: "several streams are mixed into one"
                }
            return TaskView.Passthrough(video: false, audio: false, reason: reason)
        case .slate:
            return TaskView.Passthrough(video: false, audio: false, reason: "nobody is on air: the slate is shown")
        case nil:
            return TaskView.Passthrough(video: false, audio: false, reason: "no relay is connected")
        }
    }

    private static func state(of machine: TaskMachine) -> (TaskView.State, EndReason?) {
        switch machine.phase {
        case .waiting(let reason): (.stopped, reason)
        case .held(let user): (.stopped, user == nil ? .requested : .hostLeft)
        case .ending(let reason): (.stopped, reason)
        case .starting where machine.launchesFailed >= 5, .recovering where machine.launchesFailed >= 5: (.failed, nil)
        case .starting: (.starting, nil)
        case .recovering: (.recovering, nil)
        case .running: (.running, nil)
        }
    }
}
