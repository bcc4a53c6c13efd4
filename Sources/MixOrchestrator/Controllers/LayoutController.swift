import EventSubscription
import Hummingbird
import LayoutEngine

/// `GET /v1/layouts` and `PUT /v1/layouts/{name}`.
struct LayoutController: Sendable {
    let registry: RoomRegistry
    let layouts: LayoutDirectory

    func addRoutes(to router: some RouterMethods<some RequestContext>) {
        router.get("v1/layouts", use: list)
        router.put("v1/layouts/{name}", use: put)
    }

    private struct List: Encodable {
        struct Layout: Encodable {
            var name: String
            var summary: String?
        }
        var layouts: [Layout]
    }

    @Sendable private func list(_ request: Request, _ context: some RequestContext) async throws -> Response {
        await announce(layouts.refresh())
        return jsonResponse(
            List(layouts: layouts.names.map { List.Layout(name: $0, summary: layouts.template($0).summary) }))
    }

    @Sendable private func put(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let name = try context.parameters.require("name")
        guard LayoutDirectory.isName(name), name != LayoutLibrary.automaticName else {
            throw InputError(
                .invalidField, field: "name", found: "\"\(name)\"",
                expected: "1 to 64 of a-z, A-Z, 0-9, - and _, other than \"\(LayoutLibrary.automaticName)\"")
        }
        let existed = layouts.contains(name)
        let body = try await request.body.collect(upTo: BodyLimit.bytes)
        try layouts.store(Array(body.readableBytesView), name: name)
        await announce([name])
        return jsonResponse(
            List.Layout(name: name, summary: layouts.template(name).summary), status: existed ? .ok : .created)
    }

    private func announce(_ changed: [String]) async {
        let now = MonotonicClock.now()
        for name in changed { await registry.layoutChanged(name, at: now) }
    }
}
