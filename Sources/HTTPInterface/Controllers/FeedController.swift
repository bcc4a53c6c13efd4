import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService

/// `GET /v1/rooms/{room}/feed`: the changes of a room, as server-sent events (HTML living standard, §9.2).
///
/// The first event is `room`, the whole state as `GET /v1/rooms/{room}` returns it. It is sent again when a client
/// reads too slowly and misses changes. After it, each change follows in the form that subscribers receive, named by
/// its topic.
package struct FeedController: Sendable {
    let registry: RoomRegistry
    let listeners: RoomListeners
    let numbers: NumberSource
    /// Interval between two heartbeats.
    var heartbeat: Duration = .seconds(15)

    package init(
        registry: RoomRegistry, listeners: RoomListeners, numbers: NumberSource, heartbeat: Duration = .seconds(15)
    ) {
        self.registry = registry
        self.listeners = listeners
        self.numbers = numbers
        self.heartbeat = heartbeat
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/rooms/{room}/feed", use: get)
        router.head("v1/rooms/{room}/feed", use: head)
    }

    private static var headers: HTTPFields {
        var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        // Keeps nginx from buffering the events.
        if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
        return headers
    }

    @Sendable private func head(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try await state(of: try context.roomID())
        return Response(status: .ok, headers: Self.headers)
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try context.roomID()
        _ = try await state(of: room)
        let seen = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }.flatMap { Int64($0) }
        let listener = try listeners.listen(
            to: room, numbers: numbers, quotas: registry.services.quotas.quotas.of(context.app))
        return Response(
            status: .ok, headers: Self.headers,
            body: ResponseBody { writer in
                // After a client disconnects, `write` throws at the next heartbeat at the latest.
                try await follow(room, listener, seen) { try await writer.write($0) }
                try await writer.finish(nil)
            })
    }

    private func follow(
        _ room: RoomID, _ listener: RoomListener, _ seen: Int64?, write: (ByteBuffer) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [heartbeat] in
                while true {
                    try await Task.sleep(for: heartbeat)
                    listener.wake()
                }
            }
            defer { group.cancelAll() }
            var isStale = !(seen.map { listeners.isUpToDate($0, of: room) } ?? false)
            listener.wake()
            for await _ in listener.signals.cancelOnGracefulShutdown() {
                let events = listener.take()
                if isStale || events == nil {
                    // The state includes the earlier events.
                    guard let whole = try? await wholeState(of: room) else { return }
                    isStale = false
                    try await write(whole)
                } else if let events, !events.isEmpty {
                    try await write(events.reduce(into: ByteBuffer()) { $0.write($1) })
                } else {
                    try await write(ByteBuffer(string: ":\n\n"))
                }
            }
        }
    }

    private func wholeState(of room: RoomID) async throws -> ByteBuffer {
        let number = numbers.next()
        let view = try await state(of: room)
        var buffer = ByteBuffer()
        buffer.write(name: "room", number: number, data: jsonBytes(view).readableBytesView)
        return buffer
    }

    private func state(of room: RoomID) async throws -> RoomView {
        guard let shown = try await registry.snapshot(room)?.roomView(registry.services) else {
            throw OrchestratorError.noRoom(room)
        }
        return shown.view
    }
}

extension ByteBuffer {
    fileprivate mutating func write(_ event: RoomListeners.Event) {
        write(name: event.topic.rawValue, number: event.number, data: event.body)
    }

    /// Writes one event. The JSON data contains no line breaks.
    fileprivate mutating func write(name: String, number: Int64, data: some Sequence<UInt8>) {
        writeString("id: \(number)\nevent: \(name)\ndata: ")
        writeBytes(data)
        writeString("\n\n")
    }
}
