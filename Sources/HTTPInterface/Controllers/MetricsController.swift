import Foundation
import Hummingbird
import MixModel
import RoomService

/// `GET /metrics`: Prometheus text.
package struct MetricsController: Sendable {
    let metrics: Metrics
    let registry: RoomRegistry
    let layouts: Layouts
    let images: ImageStore
    let readiness: Readiness
    let uploads: Uploader?
    let deliveries: DeliveryEngine
    let subscriptions: SubscriptionRegistry
    let channels: RoomChannels?
    let socketIO: SocketIOServer?
    /// This node; `nil` without a cluster.
    let node: ClusterNode?

    package init(
        metrics: Metrics, registry: RoomRegistry, layouts: Layouts, images: ImageStore, readiness: Readiness,
        uploads: Uploader? = nil, deliveries: DeliveryEngine, subscriptions: SubscriptionRegistry,
        channels: RoomChannels? = nil, socketIO: SocketIOServer? = nil, node: ClusterNode? = nil
    ) {
        self.node = node
        self.uploads = uploads
        self.channels = channels
        self.metrics = metrics
        self.registry = registry
        self.layouts = layouts
        self.images = images
        self.readiness = readiness
        self.deliveries = deliveries
        self.subscriptions = subscriptions
        self.socketIO = socketIO
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("metrics", use: get)
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        await look()
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.registry.text())))
    }

    /// Updates the metrics that are measured only on request.
    private func look() async {
        let (rooms, tasks) = await registry.census()
        metrics.set(.rooms, Double(rooms))
        metrics.set(.tasks, tasks)
        let catalogue = layouts.catalogue
        metrics.set(.layouts, Double(catalogue.names.count))
        metrics.set(.layoutsBroken, Double(catalogue.brokenCount))
        metrics.set(.imagesFailed, Double(await images.failedCount))
        metrics.set(.ready, await readiness.checks().allSatisfy(\.ok) ? 1 : 0)

        var relays = RelayFigures()
        for owner in registry.busyOwners {
            for status in await owner.snapshot.tasks.compactMap(\.status) { relays.add(status) }
        }
        metrics.set(.relays, Double(relays.relays))
        metrics.set(.mixersFailing, Double(relays.failingMixers))
        metrics.set(.programs, relays.programs)
        metrics.set(.outputs, relays.outputs)
        metrics.set(.sources, relays.sources)
        metrics.set(.recordings, relays.recordings)

        if let uploads { metrics.set(.uploadFiles, uploads.counts) }
        let viewers = registry.services.viewers
        metrics.set(.viewers, Double(viewers.total))
        let load = registry.services.load.figures
        metrics.set(.coresAvailable, load.availableCores.map { [([], $0)] } ?? [])
        metrics.set(.coresCommitted, load.committedCores)
        metrics.set(.taskCost, load.usedCores)
        metrics.set(
            .degradedTasks,
            (1...Degradation.highest).map { (["\($0)"], Double(load.degradedTasks[$0] ?? 0)) })
        metrics.set(.tasksWaiting, Double(load.waitingTasks))
        metrics.set(.admissionRefusals, Double(load.refusals))
        metrics.set(
            .loadRatio,
            LoadRatios(
                load: load, memory: try? String(contentsOfFile: MachineMemory.path, encoding: .utf8),
                rooms: node.map { (count: $0.rooms.count, limit: $0.settings.capacity) },
                viewers: (count: viewers.total, limit: viewers.limits.all)
            ).samples)

        if let figures = await channels?.figures {
            metrics.set(.channels, Double(figures.channels))
            metrics.set(.channelMirrors, Double(figures.mirrors))
            metrics.set(.channelViewers, Double(figures.viewers))
        }
        if let socketIO { metrics.set(.socketIOSessions, socketIO.counts) }
        metrics.set(.feedListeners, Double(registry.services.listeners.listenerCount))
        let kinds = subscriptions.index.counts
        metrics.set(
            .subscriptions,
            Dictionary(uniqueKeysWithValues: Subscription.Kind.allCases.map { ($0.rawValue, kinds[$0] ?? 0) }))
        metrics.set(.webhookCircuits, Double(deliveries.openCircuits))
        // The number is unknown without the store.
        metrics.set(
            .webhooksWaiting, (try? await subscriptions.store.waitingMessages()).map { [([], Double($0))] } ?? [])

        let process = ProcessFigures()
        metrics.set(.processCPU, process.cpuSeconds)
        metrics.set(.processResident, process.residentBytes)
        metrics.set(.processThreads, process.threads)
        metrics.set(.processDescriptors, process.openDescriptors)
        metrics.set(.processStart, process.startedAt)
        if let most = process.mostDescriptors { metrics.set(.processDescriptorLimit, most) }
    }
}
