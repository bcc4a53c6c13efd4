import MixModel
import TaskStore
import TextFormats

/// Where programs of rooms of other nodes are played from: the ingests of those nodes.
package struct RemoteProgramURLs: Sendable {
    private let node: ClusterNode
    private let sign: @Sendable (_ path: String) -> String?

    /// - Parameter sign: Returns the query that lets its holder play a path, such as `auth_key=…`; `nil` if everybody may.
    package init(node: ClusterNode, sign: @escaping @Sendable (_ path: String) -> String?) {
        self.node = node
        self.sign = sign
    }

    /// Returns the RTMP URL of a program; `nil` if the room is this node's.
    ///
    /// - Throws: `OrchestratorError` if no node has the room, or that node's ingest is not reached.
    func url(of task: TaskID, in room: RoomID) async throws(OrchestratorError) -> String? {
        guard !node.has(room), let other = try await node.otherHolder(of: room, isFreshWanted: false) else {
            return nil
        }
        guard let place = other.ingest else { throw .elsewhere(room.rawValue, other) }
        return Self.url(of: task, in: room, at: place, sign: sign)
    }

    static func url(of task: TaskID, in room: RoomID, at place: String, sign: (String) -> String?) -> String {
        let parts = ["program", room.app.rawValue, room.name].map(PercentEncoding.encoded)
        let path = "/" + parts.joined(separator: "/")
        let query = ["task=\(PercentEncoding.encoded(task.name))", sign(path)].compactMap(\.self)
        return "rtmp://\(place)\(path)?\(query.joined(separator: "&"))"
    }
}
