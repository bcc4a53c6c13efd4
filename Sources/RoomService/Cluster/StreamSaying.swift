import EventSubscription
import MixModel
import TaskStore

/// A message of a stream's publisher to its players, in the form in which nodes exchange it.
package struct StreamSaying: Hashable, Codable, Sendable {
    private var room: RoomID
    private var user: UserID
    private var stream: StreamKind
    /// The kind of the message, such as `data`.
    package var type: String
    /// Further values as JSON text; `nil` if there are none.
    package var payload: String?

    package init(of names: StreamNames, type: String, payload: String?) {
        room = names.room
        user = names.user
        stream = names.stream
        self.type = type
        self.payload = payload
    }

    /// The stream whose publisher says it.
    package var names: StreamNames { StreamNames(room: room, user: user, stream: stream) }

    /// Size in bytes, as it counts for limits.
    var size: Int {
        room.rawValue.utf8.count + user.rawValue.utf8.count + type.utf8.count + (payload?.utf8.count ?? 0) + 64
    }
}

/// Messages of publishers that other nodes have not been told yet. Pure.
///
/// A node has an entry while messages are sent to it. Messages beyond a node's limit are lost, as they are for a player who
/// does not read: the oldest ones of the stream with the most waiting messages, so that no publisher takes the places of
/// others.
struct SayingQueues: Sendable {
    /// Largest number of sayings that wait for a node, which are told at once.
    static let most = 256
    /// Largest number of bytes that wait for a node: escaped as JSON, they fit into one order.
    static let mostBytes = 256 << 10

    private struct Queue {
        private(set) var sayings: [StreamSaying] = []
        private var bytes = 0

        mutating func add(_ saying: StreamSaying) {
            sayings.append(saying)
            bytes += saying.size
            while sayings.count > SayingQueues.most { lose { _ in 1 } }
            while bytes > SayingQueues.mostBytes { lose { $0.size } }
        }

        /// Drops the oldest saying of the stream whose sayings weigh the most.
        private mutating func lose(by weight: (StreamSaying) -> Int) {
            var weights: [StreamNames: Int] = [:]
            for saying in sayings { weights[saying.names, default: 0] += weight(saying) }
            let largest = weights.values.max()
            guard let index = sayings.firstIndex(where: { weights[$0.names] == largest }) else { return }
            bytes -= sayings.remove(at: index).size
        }
    }
    private var queues: [NodeID: Queue] = [:]

    /// Number of nodes that are being told.
    var busy: Int { queues.count }

    /// - Returns: The nodes to which the caller has to begin to send: `take` until nothing is left.
    mutating func add(_ saying: StreamSaying, for nodes: [NodeID]) -> [NodeID] {
        guard saying.size <= Self.mostBytes else { return [] }
        return nodes.filter { node in
            let isNew = queues[node] == nil
            var queue = queues.removeValue(forKey: node) ?? Queue()
            queue.add(saying)
            queues[node] = queue
            return isNew
        }
    }

    /// Returns what waits for a node, in order; `nil` once nothing waits, and the node is told no more.
    mutating func take(for node: NodeID) -> [StreamSaying]? {
        guard let queue = queues[node], !queue.sayings.isEmpty else {
            queues[node] = nil
            return nil
        }
        queues[node] = Queue()
        return queue.sayings
    }
}
