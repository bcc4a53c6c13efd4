import EventSubscription
import Foundation
import LayoutEngine
import Logging
import MixModel
import TaskStore
import TextFormats

/// Returns the time until which the relays of a room may send, in ns of CLOCK_BOOTTIME.
package typealias RelayDeadline = @Sendable (RoomID) -> Int64

/// The services shared by all room owners.
package final class RoomServices: Sendable {
    package let store: any TaskStore
    let sockets: RelaySockets
    let starter: any RelayStarting
    package let layouts: Layouts
    package let metrics: Metrics
    package let logger: Logger
    /// Outputs of rooms that have none of their own. `{room}` and `{app}` are replaced in the URLs.
    let defaultOutputs: [PushDestination]
    private let playsWithoutOutputs: Bool
    /// Apps that start their tasks themselves. Their rooms have no program unless one is requested.
    private let appsThatStartTasks: Set<AppID>
    /// Beginning of the URLs at which programs are played over RTMP, as in `rtmp://127.0.0.1`; `nil` if they cannot be.
    package let rtmpPlace: String?
    package let defaultLayout: String
    package let defaultCanvas: RoomCanvas
    /// Addresses to which relays may connect, for sources and for outputs; `nil` = all.
    let sourceReach: Reach?
    let outputReach: Reach?
    /// Places for outputs.
    let places: OutputPlaces
    package let load: MachineLoad
    package let quotas: QuotaUsage
    /// Subscriptions to occurrences.
    package let subscriptions: SubscriptionIndex
    package let viewers: ViewerCounts
    /// Listeners of single rooms.
    package let listeners = RoomListeners()
    /// Rooms of whose changes channels are notified.
    package let news = RoomNews()
    /// Rooms with web pages as sources, whose pages end with their streams.
    let pageNews = RoomNews()
    /// Rooms with streams of other servers that viewers play over WebRTC.
    let viewerNews = RoomNews()
    /// The reasons why the pages of `pageNews` are not on air.
    package let pageFaults = PageFaults()
    package let numbers = NumberSource()
    package let taskIndex = TaskIndex()
    package let destinations = DestinationClaims()
    let needs = ProgramNeeds()
    /// Web pages shown over programs.
    package let overlays = OverlayWishes()
    /// Values that layouts show.
    package let values = ProgramValues()
    /// Local files of idle media.
    package let media: MediaLibrary
    /// The rooms that belong to this node; `nil` = all.
    let homes: (any RoomHomes)?
    /// Returns the time until which the relays of a room may send; `nil` = without limit.
    let relayDeadline: RelayDeadline?
    /// Relays of rooms that are moving to this node.
    let preparedRelays = PreparedRelays()
    /// Limits the number of relays connected or started at once, because a restart affects all of them.
    let relayStarts = Turnstile(limit: 32)

    package init(
        store: any TaskStore, sockets: RelaySockets, starter: any RelayStarting, layouts: Layouts, metrics: Metrics,
        logger: Logger, defaultOutputs: [PushDestination], defaultLayout: String, defaultCanvas: RoomCanvas,
        sourceReach: Reach? = nil, outputReach: Reach? = nil, places: OutputPlaces = OutputPlaces(),
        load: MachineLoad = MachineLoad(), quotas: QuotaUsage = QuotaUsage(),
        subscriptions: SubscriptionIndex = SubscriptionIndex(), viewers: ViewerCounts = ViewerCounts(),
        media: MediaLibrary = MediaLibrary(directory: nil, data: ""), playsWithoutOutputs: Bool = false,
        appsThatStartTasks: Set<AppID> = [],
        rtmpPlace: String? = nil, homes: (any RoomHomes)? = nil, relayDeadline: RelayDeadline? = nil
    ) {
        self.homes = homes
        self.relayDeadline = relayDeadline
        self.rtmpPlace = rtmpPlace
        self.playsWithoutOutputs = playsWithoutOutputs
        self.appsThatStartTasks = appsThatStartTasks
        self.media = media
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

}

extension RoomServices: PlanningFacts {
    /// The addresses from which relays may pull: those that the operator allows, and the ingests of all nodes.
    var reachOfSources: Reach? {
        guard let homes else { return sourceReach }
        return sourceReach?.adding(homes.ingestPlaces.map(\.reach))
    }

    package func context(for room: Room) -> PlanningContext {
        var context = PlanningContext(
            template: layouts.template(layoutName(of: room), values: room.settings.params ?? [:]),
            defaultOutputs: configuredOutputs(of: room), defaultCanvas: defaultCanvas,
            sourceReach: reachOfSources, outputReach: outputReach,
            images: room.settings.program.map { layouts.paths(of: $0.images) } ?? [:], places: places,
            media: room.settings.idle.map { media.paths(of: $0.media) } ?? [:],
            wallClock: Date().timeIntervalSince1970)
        context.playsWithoutOutputs = playsWithoutOutputs(room.id.app)
        context.values = values.values(of: room.id)
        return context
    }

    package func shownValues(of room: Room) -> LayoutValues.Names {
        layouts.shownValues(layoutName(of: room), room.settings.params ?? [:])
    }

    package func parameterImages(of room: Room) -> Set<String> {
        guard let values = room.settings.params else { return [] }
        return layouts.writtenTemplate(layoutName(of: room)).images(of: values)
    }

    package func playsWithoutOutputs(_ app: AppID) -> Bool { playsWithoutOutputs && !appsThatStartTasks.contains(app) }

    package func advise(_ context: inout PlanningContext, on task: TaskMachine, priority: Int) {
        load.advise(&context, on: task, priority: priority)
    }

    package func configuredOutputs(of room: Room) -> [PushDestination] {
        defaultOutputs.map { output in
            PushDestination(
                id: output.id,
                url: EventParser.substitute(output.url, ["app": room.id.app.rawValue, "room": room.id.name]))
        }
    }
}
