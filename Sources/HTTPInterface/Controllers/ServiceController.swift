import Hummingbird
import RoomService

/// `/healthz`, `/readyz` and `/openapi.yaml`: state and description of the service itself.
package struct ServiceController: Sendable {
    let readiness: Readiness
    /// Text of the OpenAPI document.
    let document: [UInt8]

    package init(readiness: Readiness, document: [UInt8]) {
        self.readiness = readiness
        self.document = document
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("healthz") { _, _ in jsonResponse(["status": "ok"]) }
        router.get("readyz", use: ready)
        router.get("openapi.yaml") { [document] _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/yaml"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: document)))
        }
    }

    private struct Ready: Encodable {
        var status = "ok"
        var checks: [Readiness.Check]
    }

    @Sendable private func ready(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let checks = await readiness.checks()
        let problems = checks.filter { !$0.ok }
        guard problems.isEmpty else {
            throw HTTPProblem(
                .serviceUnavailable, "not-ready", "The service is not ready",
                detail: problems.map { "\($0.name): \($0.detail ?? "")" }.joined(separator: "; "), checks: checks)
        }
        return jsonResponse(Ready(checks: checks))
    }
}
