import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomChannel
import RoomService

/// The channel of a room: `POST /v1/rooms/{room}/messages` sends a comment, likes or a gift, `GET` returns the history,
/// and `GET …/channel` follows everything as server-sent events. Moderators delete messages, mute users and change
/// rules.
///
/// Web pages of the origins that may play programs may do everything that does not require a moderator.
package struct ChannelController: Sendable {
    let channels: RoomChannels
    let streams: ChannelStreams
    let access: ChannelAccess
    let limits: RateLimits
    let origins: PlaybackOrigins

    package init(
        channels: RoomChannels, streams: ChannelStreams, access: ChannelAccess, limits: RateLimits,
        origins: PlaybackOrigins
    ) {
        self.channels = channels
        self.streams = streams
        self.access = access
        self.limits = limits
        self.origins = origins
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("v1/rooms/{room}/messages", use: post)
        router.get("v1/rooms/{room}/messages", use: history)
        router.on("v1/rooms/{room}/messages", method: .options) { request, context in
            try preflight(request, context, allowing: "GET, HEAD, OPTIONS, POST")
        }
        router.get("v1/rooms/{room}/channel", use: stream)
        router.head("v1/rooms/{room}/channel", use: streamHead)
        router.on("v1/rooms/{room}/channel", method: .options) { request, context in
            try preflight(request, context, allowing: "GET, HEAD, OPTIONS")
        }
        router.delete("v1/rooms/{room}/messages/{message}", use: delete)
        router.put("v1/rooms/{room}/muted/{user}", use: mute)
        router.delete("v1/rooms/{room}/muted/{user}", use: unmute)
        router.get("v1/rooms/{room}/rules", use: rules)
        router.patch("v1/rooms/{room}/rules", use: change)
    }

    // MARK: All callers

    @Sendable private func post(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            let caller = try access.caller(to: .write, request, context)
            try limits.takeRequest(of: caller, context)
            let room = RoomID(app: caller.app, name: try context.identifier("room"))
            try request.checkLength(upTo: ChannelReader.longestMessage)
            context.wantsBody(of: request)
            let bytes = try await request.bytes(upTo: ChannelReader.longestMessage)
            let message = try ChannelReader.message(bytes)
            let sent = try await channels.send(
                message.draft, to: room,
                from: try access.sender(caller, user: message.user, name: message.name, context))
            return jsonResponse(sent, status: .created)
        }
    }

    @Sendable private func history(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            let room = try reader(request, context)
            let (messages, state) = try await channels.history(of: room, after: try Self.known(request))
            var response = jsonResponse(
                ChannelHistoryView(messages: messages, state: ChannelStateView(state)))
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }

    @Sendable private func stream(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            let room = try reader(request, context)
            let channel = context.channel
            let follower = try await streams.join(
                room, after: try Self.known(request), address: context.peer, channel: channel)
            return Response(
                status: .ok, headers: Self.streamHeaders,
                body: ResponseBody { writer in
                    try await streams.play(follower, to: channel)
                    try await writer.finish(nil)
                })
        }
    }

    /// Answers with whether there is a channel to follow.
    @Sendable private func streamHead(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await readable(request) {
            _ = try await channels.history(of: try reader(request, context), after: .max)
            return Response(status: .ok, headers: Self.streamHeaders)
        }
    }

    private static var streamHeaders: HTTPFields {
        var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        // Keeps nginx from buffering the events.
        if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
        return headers
    }

    private func reader(_ request: Request, _ context: OrchestratorContext) throws -> RoomID {
        let caller = try access.caller(to: .read, request, context)
        try limits.takeRequest(of: caller, context)
        return RoomID(app: caller.app, name: try context.identifier("room"))
    }

    /// Returns the number of the last message that the client has: `Last-Event-ID`, otherwise `?after=`.
    private static func known(_ request: Request) throws -> Int64? {
        if let id = HTTPField.Name("Last-Event-ID").flatMap({ request.headers[$0] }).flatMap({ Int64($0) }), id >= 0 {
            return id
        }
        return try request.queryInteger("after", in: 0...(1 << 53)).map(Int64.init)
    }

    private func preflight(
        _ request: Request, _ context: OrchestratorContext, allowing methods: String
    ) throws -> Response {
        _ = try context.identifier("room")
        var headers = origins.headers(origin: request.headers[.origin])
        headers[.allow] = methods
        headers[.accessControlAllowMethods] = methods
        headers[.accessControlAllowHeaders] = "Authorization, Content-Type, Last-Event-ID"
        headers[.accessControlMaxAge] = "86400"
        return Response(status: .noContent, headers: headers)
    }

    private func readable(_ request: Request, _ handler: () async throws -> Response) async throws -> Response {
        try await origins.readable(request, exposing: "Retry-After, WWW-Authenticate", handler)
    }

    // MARK: Moderators

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let text = try context.parameters.require("message")
        guard let id = Int64(text), id > 0 else {
            throw OrchestratorError.notFound(
                "message", text, cure: "the id of a message is a number, as GET /v1/rooms/{room}/messages shows it")
        }
        try await channels.delete(id, of: try context.roomID())
        return Response(status: .noContent)
    }

    @Sendable private func mute(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let user = UserID(try context.identifier("user"))
        let seconds = try ChannelReader.mute(try await request.bytes())
        try await channels.mute(user, in: try context.roomID(), for: seconds)
        return Response(status: .noContent)
    }

    @Sendable private func unmute(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let user = UserID(try context.identifier("user"))
        _ = try await channels.unmute(user, in: try context.roomID())
        return Response(status: .noContent)
    }

    @Sendable private func rules(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        jsonResponse(ChannelRulesView(try await channels.moderation(of: try context.roomID())))
    }

    @Sendable private func change(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (slowMode, words) = try ChannelReader.rules(try await request.bytes())
        let moderation = try await channels.moderation(
            of: try context.roomID(), slowMode: slowMode, words: words)
        return jsonResponse(ChannelRulesView(moderation))
    }
}
