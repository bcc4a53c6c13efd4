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
    var defaultOutputs: [PushDestination]
    var defaultLayout: String
    package var defaultCanvas: Canvas
    /// Addresses to which relays may connect, for sources and for outputs; `nil` = all.
    var sourceReach: Reach?
    var outputReach: Reach?
    /// Places for outputs.
    var places: OutputPlaces
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
        logger: Logger, defaultOutputs: [PushDestination], defaultLayout: String, defaultCanvas: Canvas,
        sourceReach: Reach? = nil, outputReach: Reach? = nil, places: OutputPlaces = OutputPlaces(),
        load: LoadLedger = LoadLedger(), quotas: QuotaLedger = QuotaLedger(),
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
        self.places = places
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
            images: room.settings.program.map { layouts.paths(of: $0.images) } ?? [:], places: places)
    }

    /// Returns the destinations of the room's program: its own, or otherwise the configured ones.
    package func outputs(of room: Room) -> [PushDestination] { room.settings.outputs ?? configuredOutputs(of: room) }

    /// Whether the room's program has an output of any kind.
    package func hasDestination(_ room: Room) -> Bool {
        !outputs(of: room).isEmpty || OutputPlanner.isRequested(by: room.settings)
    }

    private func configuredOutputs(of room: Room) -> [PushDestination] {
        defaultOutputs.map { output in
            PushDestination(
                id: output.id,
                url: EventParser.substitute(output.url, ["app": room.id.app.rawValue, "room": room.id.name]))
        }
    }
}
