import EventSubscription
import LayoutEngine
import Logging
import MixModel
import TaskStore
import TextFormats

/// The services of every room owner; immutable and shared.
struct RoomServices: Sendable {
    var store: any TaskStore
    var sockets: RelaySockets
    var starter: any RelayStarting
    var layouts: Layouts
    var metrics: Metrics
    var logger: Logger
    /// Outputs of rooms that have none of their own. `{room}` and `{app}` are replaced in the URLs.
    var defaultOutputs: [PlannedOutput]
    var defaultLayout: String
    var defaultCanvas: Canvas
    /// Addresses to which relays may connect, for sources and for outputs; `nil` = all.
    var sourceReach: Reach?
    var outputReach: Reach?
    /// Absolute path; `nil` = no HLS.
    var hlsDirectory: String?
    /// Place of recordings; `nil` = nothing is recorded.
    var recordingPlace: RecordingPlace?
    var load = LoadLedger()
    var quotas = QuotaLedger()
    /// Subscriptions to what happens.
    var subscriptions = SubscriptionBook()
    var viewers = ViewerLedger()
    /// Listeners of single rooms.
    let feeds = RoomFeeds()
    let numbers = NumberSource()
    let taskIndex = TaskIndex()
    let outputs = OutputLedger()
    let needs = ProgramNeeds()
    /// Limits the relays that are connected or started at once: after a restart all of them are.
    let relayStarts = Turnstile(limit: 32)

    func layoutName(of room: Room) -> String { room.settings.layout ?? defaultLayout }

    func context(for room: Room) -> PlanningContext {
        PlanningContext(
            template: layouts.template(layoutName(of: room)),
            defaultOutputs: configuredOutputs(of: room), defaultCanvas: defaultCanvas,
            sourceReach: sourceReach, outputReach: outputReach,
            images: room.settings.program.map { layouts.paths(of: $0.images) } ?? [:],
            recordingPlace: recordingPlace,
            // Left out for rooms without HLS, because a context is made for every event of every room.
            hlsDirectory: room.settings.hls == nil
                ? nil : hlsDirectory.map { HLSFiles(directory: $0).directory(of: room.id) })
    }

    /// Returns the outputs of the room's program: its own, or otherwise the configured ones.
    func outputs(of room: Room) -> [PlannedOutput] { room.settings.outputs ?? configuredOutputs(of: room) }

    /// Whether the room's program has a destination: outputs, a recording or HLS.
    func hasDestination(_ room: Room) -> Bool {
        !outputs(of: room).isEmpty || room.settings.recording != nil || room.settings.hls != nil
    }

    private func configuredOutputs(of room: Room) -> [PlannedOutput] {
        defaultOutputs.map { output in
            PlannedOutput(
                id: output.id,
                url: EventParser.substitute(output.url, ["app": room.id.app.rawValue, "room": room.id.name]))
        }
    }
}
