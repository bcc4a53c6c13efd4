import EventSubscription
import HTTPTypes
import Hummingbird
import LayoutEngine
import MixModel
import RoomService
import TextFormats

/// `/rest-api/{family}/{action}`, and `/rest-api/stream/event/send`: the calls of Web Call Server's REST interface that have a counterpart here.
///
/// Like all calls, they need a token: Web Call Server's own interface has no authentication.
package struct WCSController: Sendable {
    private typealias Action = @Sendable (WCSCall) async throws -> Response

    private let actions: [String: Action]

    /// - Parameters:
    ///   - server: `nil` if the interface is off. Every call is then answered with 404.
    ///   - previews: Maker of snapshots; `nil` if the service makes none.
    package init(
        server: WCSServer?, settings: RoomSettingsReader, parser: EventParser, canvas: Canvas, previews: Previews?
    ) {
        actions = server.map { Self.actions($0, settings, parser, canvas, previews) } ?? [:]
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("rest-api/{family}/{action}", use: handle)
        router.post("rest-api/{family}/{action}", use: handle)
        router.post("rest-api/{family}/{action}/{detail}", use: handle)
    }

    private static func actions(
        _ server: WCSServer, _ settings: RoomSettingsReader, _ parser: EventParser, _ canvas: Canvas,
        _ previews: Previews?
    ) -> [String: Action] {
        let registry = server.registry
        let names: WCSServer.Names = { server.names($0, app: $1) }
        let streams = WCSStreams(registry: registry, server: server)
        let recordings = WCSRecordings(registry: registry, streams: streams)
        let snapshots = WCSSnapshots(registry: registry, server: server, previews: previews)
        let connections = WCSConnections(server: server)
        let mixers = WCSMixers(registry: registry, canvas: canvas, names: names)
        let pushes = WCSPushes(registry: registry, settings: settings, mixers: mixers)
        let pulls = WCSPulls(registry: registry, parser: parser, names: names)
        return [
            "stream/find_all": { found(try await streams.list($0, filter: false)) },
            "stream/find": { found(try await streams.list($0, filter: true)) },
            "stream/terminate": { done(try await streams.stop($0)) },
            "stream/startRecording": { done(try await recordings.start($0)) },
            "stream/stopRecording": { done(try await recordings.stop($0)) },
            "stream/snapshot": { json(.object(try await snapshots.make($0))) },
            "stream/event/send": { done(try await streams.tell($0)) },
            "connection/find_all": { found(await connections.list($0)) },
            "connection/terminate": { done(try await connections.stop($0)) },
            "mixer/startup": { done(try await mixers.start($0)) },
            "mixer/add": { done(try await mixers.change($0, adds: true)) },
            "mixer/remove": { done(try await mixers.change($0, adds: false)) },
            "mixer/find_all": { found(try await mixers.list($0)) },
            "mixer/terminate": { done(try await mixers.stop($0)) },
            "push/startup": { json(.object(try await pushes.start($0))) },
            "push/find_all": { found(try await pushes.list($0)) },
            "push/terminate": { done(try await pushes.stop($0)) },
            "pull/pull": { done(try await pulls.start($0)) },
            "pull/find_all": { found(try await pulls.list($0)) },
            "pull/terminate": { done(try await pulls.stop($0)) },
        ]
    }

    @Sendable private func handle(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let parts = [try context.parameters.require("family"), try context.parameters.require("action")]
        let name = (parts + [context.parameters.get("detail")].compactMap(\.self)).joined(separator: "/")
        guard let action = actions[name] else {
            throw HTTPProblem(
                .notFound, "wcs-call-not-found", "There is no such call of Web Call Server's interface",
                detail: name.shortened(toBytes: 100),
                expected: actions.isEmpty
                    ? "wcs.enabled: true in the configuration"
                    : "one of " + actions.keys.sorted().joined(separator: ", "))
        }
        // Lists are read with either method; everything else changes something.
        guard request.method == .post || name.hasSuffix("/find_all") else {
            throw HTTPProblem.methodNotAllowed("GET", "/rest-api/\(name)", allowed: "POST")
        }
        return try await action(try await WCSCall(request, context))
    }

    /// An empty list is answered with 404.
    private static func found(_ entries: [JSONValue]) -> Response {
        json(.array(entries), status: entries.isEmpty ? .notFound : .ok)
    }

    private static func done(_: Void) -> Response { Response(status: .ok) }

    private static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: JSONText.of(value))))
    }
}
