import EventSubscription
import Foundation
import LayoutEngine
import MixModel

/// A task as the API shows it. URLs are redacted.
struct TaskView: Encodable {
    typealias State = TaskState
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
        /// What `lastError` is about, for programs.
        var lastErrorCode: OutputErrorCode?
        /// Frames that it did not get because it was too slow or away; absent until the relay tells.
        var droppedFrames: Int?
        /// Absent where it is tried for ever.
        var retry: OutputRetry?
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
        /// What entries of the timeline have in common with it.
        var causes: [CauseID]
        var latencyMs: Double
        var afterKeyframeMs: Double?
        var videoGapMs: Double
        var audioGapMs: Double?
    }

    /// As `POST /v1/tasks` takes them, with what is left out filled in.
    struct Settings: Encodable {
        struct Output: Encodable {
            var id: OutputID
            var url: String
            var retry: OutputRetry?
        }
        var host: UserID?
        var layout: String
        var canvas: Canvas
        var policy: RoomPolicy
        var outputs: [Output]
        /// Absent where it is left to the room.
        var program: ProgramView?
    }
    enum Kind: String, Encodable {
        /// The room's own, as long as it has outputs.
        case automatic
        /// Made by `POST /v1/tasks`.
        case explicit
    }
    enum Awaited: String, Encodable {
        /// It starts with the room's next stream.
        case stream
        /// The room has nowhere to push to.
        case output
        /// It starts when the machine has room for it.
        case capacity
    }
    /// How a mix is made cheaper while the machine carries too much.
    struct Thrift: Encodable {
        /// 1…4.
        var level: Int
        /// Frames of the canvas made in a second.
        var fps: Double
        var reason: String
    }

    var id: String
    var room: String
    var kind: Kind
    var state: State
    /// What it starts with by itself; absent while it is on air, or ended until somebody does something.
    var waitingFor: Awaited?
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
    /// Newest first; absent in lists.
    var switches: [Switch]?
    var settings: Settings
    var revision: Int
    /// The newest plan that the relay has taken up.
    var appliedRevision: Int?
    var relayProcess: Int32?
    /// Absent while the program is whole.
    var degradation: Thrift?
    /// In seconds.
    var programTime: Double?
    /// Who play it over HTTP-FLV now.
    var viewers: Int
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
    struct Output: Encodable {
        var id: OutputID
        var url: String
        var retry: OutputRetry?
    }

    var id: String
    var open: Bool
    var host: UserID?
    var layout: String
    var canvas: Canvas
    var policy: RoomPolicy
    /// Absent where it is left to the people in the room.
    var program: ProgramView?
    var outputs: [Output]
    var participants: [Person]
    /// The automatic one.
    var task: TaskView?
    /// The ids of all of its tasks.
    var tasks: [String]
    /// Of all of its tasks.
    var viewers: Int
    var rtmp: ServiceView
    var recording: ServiceView
    var hls: HLSView
}
