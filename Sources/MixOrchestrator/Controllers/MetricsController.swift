import Hummingbird

/// `GET /metrics`: Prometheus text.
struct MetricsController: Sendable {
    let metrics: Metrics
    let registry: RoomRegistry
    let layouts: Layouts
    let images: ImageStore

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("metrics", use: get)
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (rooms, tasks) = await registry.census()
        let catalogue = layouts.catalogue
        let text = metrics.text([
            Metrics.Gauge("images_failed", "Images that layouts name and cannot be had.", await images.failedCount),
            Metrics.Gauge("layouts", "Layouts that rooms can take.", catalogue.names.count),
            Metrics.Gauge("layouts_broken", "Layouts whose file cannot be used now.", catalogue.brokenCount),
            Metrics.Gauge("rooms", "Rooms that are known.", rooms),
            Metrics.Gauge("tasks", "Tasks by state.", by: "state", tasks),
        ])
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
