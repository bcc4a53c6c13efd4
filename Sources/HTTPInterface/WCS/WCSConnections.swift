import EventSubscription
import MixModel
import RoomService

/// The connected clients of one app, for the app's server.
struct WCSConnections: Sendable {
    let server: WCSServer

    func list(_ call: WCSCall) async -> [JSONValue] {
        var found: [JSONValue] = []
        for connection in server.connections where found.count < WCSStreams.most {
            if let entry = await connection.entry, entry.app == call.app { found.append(.object(entry.fields)) }
        }
        return found
    }

    func stop(_ call: WCSCall) async throws {
        let name = try call.required("sessionId", "the connection's identifier, as in connection/find_all")
        guard let found = server.connections.first(where: { $0.name.hasSameUTF8(as: name) }),
            await found.entry?.app == call.app
        else {
            throw OrchestratorError.notFound(
                "connection", name.shortened(toBytes: 100), cure: "connection/find_all lists those that are open")
        }
        found.terminate()
    }
}
