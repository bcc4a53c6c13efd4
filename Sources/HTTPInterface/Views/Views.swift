import EventSubscription
import Foundation
import LayoutEngine
import MixModel
import RoomService

/// A task as the API shows it. URLs are redacted.
struct TaskView: Encodable {
    typealias State = TaskState
    struct Passthrough: Encodable {
        var video: Bool
        var audio: Bool
        /// The reason if either is false.
        var reason: String?
    }
    /// The state of a mixer's twin.
    enum Twin: String, Encodable {
        /// The twin can take over immediately.
        case ready
        case starting
        /// The twin does not run while the machine is overloaded.
        case paused
    }
    struct Output: Encodable {
        var id: OutputID
        var url: String
        var state: DestinationStatus.State
        var connectedSince: Date?
        var reconnects: Int
        var bytesSent: Int64
        var lastError: String?
        /// The kind of `lastError`, for programs.
        var lastErrorCode: OutputErrorCode?
        /// Frames that the destination missed because it was too slow or disconnected. Absent until the relay reports
        /// it.
        var droppedFrames: Int?
        /// Limits of reconnection. Absent if attempts never end.
        var retry: OutputRetry?
    }
    struct Source: Encodable {
        var id: SourceID
        var url: String
        var state: SourceStatus.State
        var error: String?
        /// Description of its quality problem.
        var poor: String?
        /// Whether its backup is pulled. Absent if not.
        var usesBackup: Bool?
        /// Whether an operator has muted it. Absent if not.
        var muted: Bool?
    }
    struct Switch: Encodable {
        var at: Date
        var from: OnAir?
        var to: OnAir
        var cause: String
        /// Identifiers that the switch shares with entries of the timeline.
        var causes: [CauseID]
        var latencyMs: Double
        var afterKeyframeMs: Double?
        /// Division of `latencyMs`. Absent if the relay has not recorded it.
        var stages: SwitchStages?
        var videoGapMs: Double
        var audioGapMs: Double?
    }

    /// Settings in the form that `POST /v1/tasks` accepts, with defaults filled in.
    struct Settings: Encodable {
        struct Output: Encodable {
            var id: OutputID
            var url: String
            var retry: OutputRetry?
        }
        var host: UserID?
        var layout: String
        var canvas: RoomCanvas
        var policy: RoomPolicy
        var outputs: [Output]
        /// The program's settings. Absent if the room determines the program.
        var program: ProgramView?
        /// Times of the schedule, if there are any.
        var startsAt: Date?
        var endsAt: Date?
        /// Media instead of the slate, if there are any.
        var idle: IdleView?
        /// Values of the layout's parameters that have been set. Absent if there are none.
        var params: [String: LayoutParameter.Value]?
    }
    enum Kind: String, Encodable {
        /// The room's own task, which exists while the room has outputs.
        case automatic
        /// A task created by `POST /v1/tasks`.
        case explicit
    }
    enum Awaited: String, Encodable {
        /// The task starts with the room's next stream.
        case stream
        /// The task's scheduled start is to come.
        case schedule
        /// The room has no destination.
        case output
        /// The task starts when the machine has capacity for it.
        case capacity
    }
    /// A reduction of a mix's cost while the machine is overloaded.
    struct Thrift: Encodable {
        /// Load level, 1…4.
        var level: Int
        /// Canvas frames rendered per second.
        var fps: Double
        var reason: String
    }

    var id: String
    var room: String
    var kind: Kind
    var state: State
    /// Event that starts the task without a request. Absent while it is on air, and after it has ended until a client
    /// acts.
    var waitingFor: Awaited?
    var endReason: EndReason?
    var lastError: String?
    /// The requested mode: 0 for bypass, 1 for mix.
    var mixMode: Int
    var host: UserID?
    /// The feed that viewers get. `nil` until a relay reports it.
    var onAir: OnAir?
    var passthrough: Passthrough
    /// The media that are played while no participant can be shown. Absent while there are none.
    var idle: IdleStatus?
    /// The scene of the picture on air. Absent in bypass.
    var scene: Scene?
    var sources: [Source]
    var outputs: [Output]
    /// The latest switches, newest first. Absent in lists.
    var switches: [Switch]?
    var settings: Settings
    var revision: Int
    /// Revision of the newest plan that the relay has applied.
    var appliedRevision: Int?
    var relayProcess: Int32?
    /// The state of the mixer's twin. Absent unless a mix with one is on air.
    var twin: Twin?
    /// The current degradation. Absent while every frame is rendered.
    var degradation: Thrift?
    /// Users for whom an operator has set something, as in the room's view. Absent if there are none.
    var controls: [RoomView.Control]?
    /// Program time, in seconds.
    var programTime: Double?
    /// Number of viewers over HTTP-FLV.
    var viewers: Int
}

/// A room as the API shows it. URLs are redacted.
struct RoomView: Encodable {
    /// Addresses of the program at this service, without the signature that they may require. Paths are relative to the
    /// URL of the service.
    struct Playback: Encodable {
        var flv: String
        /// Absent if HLS is not requested.
        var hls: String?
        /// Absent without the service's own RTMP server, or if that listens on all addresses.
        var rtmp: String?
    }
    struct Stream: Encodable {
        var stream: StreamKind
        var url: String
        var audio: Bool
        var video: Bool
        /// State reported by the relay. Absent without a relay.
        var state: SourceStatus.State?
        /// Reason why the stream cannot be shown, as text.
        var error: String?
        /// The second URL, if there is one.
        var backup: String?
    }
    struct Person: Encodable {
        var user: UserID
        var name: String?
        var role: Role?
        var joinOrder: Int
        var streams: [Stream]
        /// Whether an operator has muted the user.
        var muted: Bool
        /// Loudness in mixes, in percent.
        var gain: Int
        var hidden: Bool
    }
    /// An operator's settings for a user, who may be absent.
    struct Control: Encodable {
        var user: UserID
        var muted: Bool
        /// Loudness in mixes, in percent.
        var gain: Int
        var hidden: Bool
    }
    struct Output: Encodable {
        var id: OutputID
        var url: String
        var retry: OutputRetry?
    }

    var id: String
    var open: Bool
    var host: UserID?
    var layout: String
    /// Values of the layout's parameters that have been set. Absent if there are none.
    var params: [String: LayoutParameter.Value]?
    var canvas: RoomCanvas
    var policy: RoomPolicy
    /// The program's settings. Absent if the participants in the room determine the program.
    var program: ProgramView?
    /// Media instead of the slate. Absent if there are none.
    var idle: IdleView?
    var outputs: [Output]
    var participants: [Person]
    /// Users for whom an operator has set something, present or not. Absent if there are none.
    var controls: [Control]?
    /// The web pages that the service shows in the room. Absent if there are none, or if they were not requested.
    var pages: [PageSupervisor.View]?
    /// The web pages that are overlaid on the room's programs. Absent if there are none, or if they were not requested.
    var overlayPages: [OverlaySupervisor.View]?
    /// Addresses at which the program of the automatic task can be watched.
    var playback: Playback
    /// The room's automatic task.
    var task: TaskView?
    /// The ids of all the room's tasks.
    var tasks: [String]
    /// Number of viewers of all the room's tasks.
    var viewers: Int
    var rtmp: ServiceDocument
    var recording: ServiceDocument
    /// `recording` under the name that 100ms' clients use: the recording of what viewers see.
    var browserRecording: ServiceDocument
    /// The recordings of single participants.
    var serverRecording: ServiceDocument
    var hls: HLSView
}
