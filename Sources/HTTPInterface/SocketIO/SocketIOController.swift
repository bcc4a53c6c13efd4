import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import RoomService
import SocketIO

/// `/socket.io/`: Engine.IO over HTTP requests (polling), and the requests for its WebSockets.
package struct SocketIOController: Sendable {
    private let server: SocketIOServer?

    /// - Parameter server: `nil` if the interface is off. Every request is then answered with 404.
    package init(server: SocketIOServer?) { self.server = server }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("socket.io") { request, context in try await answer(request, context, with: get) }
        router.post("socket.io") { request, context in try await answer(request, context, with: post) }
        // Only `GET` requests are handshakes.
        router.head("socket.io") { request, context in try await answer(request, context, with: refuse) }
        router.put("socket.io") { request, context in try await answer(request, context, with: refuse) }
        router.on("socket.io", method: .options) { request, _ in
            try preflight(request, allowing: "GET, HEAD, OPTIONS, POST, PUT")
        }
        router.get("rooms", use: rooms)
        router.on("rooms", method: .options) { request, _ in try preflight(request, allowing: "GET, HEAD, OPTIONS") }
    }

    // MARK: Rooms

    /// `GET /rooms`: the live rooms, as apps of this interface list them.
    @Sendable private func rooms(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        guard let server, let handler = server.handler as? SocketIORoomHandler else { throw Self.isOff }
        let headers = server.settings.origins.headers(origin: request.headers[.origin])
        do {
            let value = Self.values(of: request.uri)
            let shown = try server.access.check(request.head, value, address: context.peer, isUpgrade: false)
            let caller = try server.access.caller(shown)
            var response = jsonResponse(
                await handler.rooms(of: caller.app).map { ListedRoom(key: $0.name, title: $0.title ?? $0.name) })
            response.headers.append(contentsOf: headers)
            response.headers[.cacheControl] = "no-store"
            return response
        } catch {
            var problem = error
            problem.headers.append(contentsOf: headers)
            throw problem
        }
    }

    private struct ListedRoom: Encodable {
        var key: String
        var title: String
    }

    // MARK: Polling

    /// The subject of a request.
    private struct Call {
        let server: SocketIOServer
        let query: EngineIOQuery
        let shown: SocketIOAccess.Shown
    }

    private func answer(
        _ request: Request, _ context: OrchestratorContext,
        with handler: (Call, Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response {
        guard let server else { throw Self.isOff }
        let headers = server.settings.origins.headers(origin: request.headers[.origin])
        do {
            let value = Self.values(of: request.uri)
            let shown = try server.access.check(request.head, value, address: context.peer, isUpgrade: false)
            let query = try EngineIOQuery(missingIsThree: server.settings.missingVersionIsThree, value)
            var response = try await handler(Call(server: server, query: query, shown: shown), request, context)
            response.headers.append(contentsOf: headers)
            response.headers[.cacheControl] = "no-store"
            return response
        } catch let error as EngineIOError {
            server.refused("\(error.rawValue)")
            var response = Self.response(error)
            response.headers.append(contentsOf: headers)
            return request.method == .head ? response.createHeadResponse() : response
        } catch var error as HTTPProblem {
            error.headers.append(contentsOf: headers)
            throw error
        }
    }

    private func get(_ call: Call, _ request: Request, _ context: OrchestratorContext) async throws -> Response {
        guard call.query.transport == .polling else { throw EngineIOError.badRequest }
        let session: SocketIOSession
        if let id = call.query.session {
            session = try call.server.session(id, call.shown)
        } else {
            session = try call.server.open(call.query, call.shown, address: context.peer)
            await session.begin()
        }
        switch await session.poll(on: context.channel) {
        case .refused(let error): throw error
        case .accepted: throw EngineIOError.badRequest
        case .packets(let packets):
            let (bytes, isBinary) = EngineIOPayload.encode(
                packets, version: session.version, isTextOnly: session.isTextOnly)
            return Response(
                status: .ok,
                headers: [.contentType: isBinary ? Self.binaryType : "text/plain; charset=UTF-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        }
    }

    private func post(_ call: Call, _ request: Request, _ context: OrchestratorContext) async throws -> Response {
        guard let id = call.query.session else { throw EngineIOError.badMethod }
        guard call.query.transport == .polling else { throw EngineIOError.badRequest }
        let session = try call.server.session(id, call.shown)
        let limits = call.server.settings.engine.limits
        try request.checkLength(upTo: limits.payload)
        let (number, refusal) = session.beginPost()
        if let refusal { throw refusal }
        let bytes: [UInt8]
        do {
            context.wantsBody(of: request)
            bytes = try await request.bytes(upTo: limits.payload)
        } catch {
            session.abandonPost(number)
            throw error
        }
        let isBinary = request.headers[.contentType]?.lowercased().hasPrefix(Self.binaryType) ?? false
        let packets = try? EngineIOPayload.decode(bytes, isBinary: isBinary, version: session.version, limits: limits)
        if case .refused(let error) = await session.endPost(number, packets) { throw error }
        return Response(
            status: .ok, headers: [.contentType: "text/html"], body: ResponseBody(byteBuffer: ByteBuffer(string: "ok")))
    }

    private func refuse(_ call: Call, _ request: Request, _ context: OrchestratorContext) async throws -> Response {
        throw EngineIOError.badMethod
    }

    private func preflight(_ request: Request, allowing methods: String) throws -> Response {
        guard let server else { throw Self.isOff }
        var headers = server.settings.origins.preflight(
            origin: request.headers[.origin], methods: "GET, POST, OPTIONS")
        headers[.allow] = methods
        return Response(status: .noContent, headers: headers)
    }

    static let binaryType = "application/octet-stream"

    private static let isOff = HTTPProblem(
        .notFound, "socketio-off", "Socket.IO is off", detail: "the configuration does not switch it on",
        expected: "socketio.enabled: true in the configuration")

    static func response(_ error: EngineIOError) -> Response {
        Response(
            status: .init(code: error.status), headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: error.document)))
    }

    static func values(of uri: URI) -> @Sendable (String) -> String? {
        { name in uri.queryParameters[name[...]].map(String.init) }
    }
}
