import EventSubscription
import LayoutEngine
import Logging
import MixModel
import TaskStore
import TextFormats

/// The services of every room owner; immutable and shared.
package struct RoomServices: Sendable {
    package var store: any TaskStore
    var sockets: RelaySockets
    var starter: any RelayStarting
    package var layouts: Layouts
    package var metrics: Metrics
    package var logger: Logger
    /// Outputs of rooms that have none of their own. `{room}` and `{app}` are replaced in the URLs.
    var defaultOutputs: [PlannedOutput]
    var defaultLayout: String
    package var defaultCanvas: Canvas
    /// Addresses to which relays may connect, for sources and for outputs; `nil` = all.
    var sourceReach: Reach?
    var outputReach: Reach?
    /// Absolute path; `nil` = no HLS.
    package var hlsDirectory: String?
    /// Place of recordings; `nil` = nothing is recorded.
    var recordingPlace: RecordingPlace?
    package var load = LoadLedger()
    package var quotas = QuotaLedger()
    /// Subscriptions to what happens.
    package var subscriptions = SubscriptionBook()
    package var viewers = ViewerLedger()
    /// Listeners of single rooms.
    package let feeds = RoomFeeds()
    package let numbers = NumberSource()
    package let taskIndex = TaskIndex()
    package let outputs = OutputLedger()
    let needs = ProgramNeeds()
    /// Limits the relays that are connected or started at once: after a restart all of them are.
    let relayStarts = Turnstile(limit: 32)

    package init(
        store: any TaskStore, sockets: RelaySockets, starter: any RelayStarting, layouts: Layouts, metrics: Metrics,
        logger: Logger, defaultOutputs: [PlannedOutput], defaultLayout: String, defaultCanvas: Canvas,
        sourceReach: Reach? = nil, outputReach: Reach? = nil, hlsDirectory: String? = nil,
        recordingPlace: RecordingPlace? = nil, load: LoadLedger = LoadLedger(), quotas: QuotaLedger = QuotaLedger(),
        subscriptions: SubscriptionBook = SubscriptionBook(), viewers: ViewerLedger = ViewerLedger()
    ) {
        self.store = store
        self.sockets = sockets
        self.starter = starter
        self.layouts = layouts
        self.metrics = metrics
        self.logger = logger
        self.defaultOutputs = defaultOutputs
        self.defaultLayout = defaultLayout
        self.defaultCanvas = defaultCanvas
        self.sourceReach = sourceReach
        self.outputReach = outputReach
        self.hlsDirectory = hlsDirectory
        self.recordingPlace = recordingPlace
        self.load = load
        self.quotas = quotas
        self.subscriptions = subscriptions
        self.viewers = viewers
    }

    package func layoutName(of room: Room) -> String { room.settings.layout ?? defaultLayout }

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
    package func outputs(of room: Room) -> [PlannedOutput] { room.settings.outputs ?? configuredOutputs(of: room) }

    /// Whether the room's program has a destination: outputs, a recording or HLS.
    package func hasDestination(_ room: Room) -> Bool {
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
