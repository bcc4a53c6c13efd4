import EventSubscription
import MixModel
import RoomService

/// The connected clients of one app, for the app's server.
struct WCSConnections: Sendable {
    let server: WCSServer

    func list(_ call: WCSCall) async -> [JSONValue] { await all(of: call.app).map { .object($0.fields) } }

    func stop(_ call: WCSCall) async throws {
        let name = try call.required("sessionId", "the connection's identifier, as in connection/find_all")
        guard let found = await all(of: call.app).first(where: { $0.connection.name.hasSameUTF8(as: name) }) else {
            throw OrchestratorError.notFound(
                "connection", name.shortened(toBytes: 100), cure: "connection/find_all lists those that are open")
        }
        found.connection.terminate()
    }

    private func all(of app: AppID) async -> [(connection: WCSConnection, fields: [String: JSONValue])] {
        var found: [(connection: WCSConnection, fields: [String: JSONValue])] = []
        for connection in server.connections where found.count < WCSStreams.most {
            if let entry = await connection.entry, entry.app == app { found.append((connection, entry.fields)) }
        }
        return found
    }
}
