import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService
import ServiceLifecycle

/// `GET /live/{room}.flv`: the program as HTTP-FLV, from the last keyframe until it ends.
///
/// If a room has several tasks, viewers get the automatic task's program, otherwise that of the first task on air.
/// `?task=` selects another. Rooms of apps other than the standard one are at `/live/{app}/{room}.flv`.
package struct LiveController: Sendable {
    let registry: RoomRegistry
    let playback: Playback
    let settings: PlaybackSettings

    package init(registry: RoomRegistry, playback: Playback, settings: PlaybackSettings) {
        self.registry = registry
        self.playback = playback
        self.settings = settings
    }

    /// Maximum time for which a viewer waits for a program that is starting.
    ///
    /// A relay begins with a slate after five seconds. After the limit the answer is 404, and players and CDNs try
    /// again.
    static let patience = TimeAmount.seconds(10)

    /// The header with the number of viewers of the program.
    private static let viewers = "Program-Viewers"

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("live/{room}.flv", use: get)
        router.head("live/{room}.flv", use: head)
        router.on("live/{room}.flv", method: .options, use: preflight)
        router.get("live/{app}/{room}.flv", use: get)
        router.head("live/{app}/{room}.flv", use: head)
        router.on("live/{app}/{room}.flv", method: .options, use: preflight)
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(request, context) { room in try await flv(room, request, context) }
    }

    /// Answers whether there is a program, and how many viewers it has, without reading it.
    @Sendable private func head(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(request, context) { room in
            let task = try await programs(of: room, request).first
            var headers: HTTPFields = [:]
            if let name = HTTPField.Name(Self.viewers), let task { headers[name] = "\(playback.viewers(of: task))" }
            return Response(status: .ok, headers: headers)
        }
    }

    /// Checks the viewer's access and answers. Web pages that may play may also read the reason for a refusal.
    private func answer(
        _ request: Request, _ context: OrchestratorContext,
        with handler: (RoomID) async throws -> Response
    ) async throws -> Response {
        var headers = settings.origins.headers(origin: request.headers[.origin])
        headers[.accessControlExposeHeaders] = "\(Self.viewers), Retry-After"
        do {
            let room = try Self.room(context)
            do throws(PlaybackAccess.Refusal) {
                if !context.isCarriedOver {
                    try settings.access.check(
                        path: request.uri.path,
                        authKey: request.uri.queryParameters[PlaybackAccess.parameter[...]].map(String.init),
                        now: Int(Date.now.timeIntervalSince1970))
                }
            } catch {
                throw OrchestratorError(error)
            }
            var response = try await handler(room)
            response.headers.append(contentsOf: headers)
            response.headers[.contentType] = "video/x-flv"
            response.headers[.cacheControl] = "no-store"
            return response
        } catch let error as OrchestratorError {
            throw Self.problem(error, headers)
        } catch let error as InputError {
            throw Self.problem(OrchestratorError(error), headers)
        }
    }

    private static func problem(_ error: OrchestratorError, _ headers: HTTPFields) -> HTTPProblem {
        var problem = HTTPProblem(error)
        problem.headers.append(contentsOf: headers)
        return problem
    }

    private static func room(_ context: OrchestratorContext) throws -> RoomID {
        let app = context.parameters.get("app") == nil ? AppID.standard : AppID(try context.identifier("app"))
        return RoomID(app: app, name: try context.identifier("room"))
    }

    private func flv(_ room: RoomID, _ request: Request, _ context: OrchestratorContext) async throws -> Response {
        // Of all programs together.
        let deadline = NIODeadline.now() + Self.patience
        for task in try await programs(of: room, request) {
            let place = try playback.enter(task, for: context.carrier)
            let broadcast = playback.broadcast(of: task)
            // A program that is just ending may still be listed.
            guard await broadcast.begins(within: max(.zero, deadline - .now())) else {
                if Task.isShuttingDownGracefully { throw OrchestratorError.stopping }
                continue
            }
            let (channel, isForNode) = (context.channel, context.isCarriedOver)
            return Response(
                status: .ok,
                body: ResponseBody { writer in
                    defer { _ = place }
                    try await broadcast.play(to: channel, isForNode: isForNode)
                    try await writer.finish(nil)
                })
        }
        throw OrchestratorError.notOnAir(room)
    }

    /// Returns the requested task, or the room's tasks that are on air or starting, with its automatic task first.
    ///
    /// - Throws: `OrchestratorError` if there is none.
    private func programs(of room: RoomID, _ request: Request) async throws -> [TaskID] {
        let asked = try request.queryText("task").map { name in
            TaskID(app: room.app, name: try EventParser.knownIdentifier(name, field: "task"))
        }
        let tasks = try await registry.snapshot(room)?.tasksToWatch ?? []
        guard !tasks.isEmpty else { throw OrchestratorError.notOnAir(room) }
        guard let asked else { return tasks }
        guard tasks.contains(asked) else { throw OrchestratorError.notOnAir(room, asked) }
        return [asked]
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try Self.room(context)
        return Response(status: .noContent, headers: settings.origins.preflight(origin: request.headers[.origin]))
    }
}
