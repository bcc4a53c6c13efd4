import Hummingbird
import TaskStore

/// `/healthz`, `/readyz` and `/openapi.yaml`: about the service itself.
struct ServiceController: Sendable {
    let store: any TaskStore

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("healthz") { _, _ in jsonResponse(["status": "ok"]) }
        router.get("readyz") { _, _ in
            // Throws while the store cannot be read.
            _ = try await store.room("readyz")
            return jsonResponse(["status": "ok"])
        }
        router.get("openapi.yaml") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/yaml"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_yaml)))
        }
    }
}
