import MixModel
import NIOCore
import TaskStore
import TextFormats

/// Programs of rooms that have moved to other nodes, for viewers who were admitted here and stay.
package struct RemotePrograms: ProgramsElsewhere {
    private let node: ClusterNode
    private let exchange: NodeExchange
    private let registry: RoomRegistry

    /// Time between two checks whether the room is back.
    private static let interval: Duration = .milliseconds(100)

    package init(node: ClusterNode, exchange: NodeExchange, registry: RoomRegistry) {
        self.node = node
        self.exchange = exchange
        self.registry = registry
    }

    package func view(
        _ task: TaskID, onBegin: @Sendable () async throws -> Void, onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool {
        guard let room = registry.room(of: task), !node.has(room),
            let other = try? await node.otherHolder(of: room),
            let answer = try? await exchange.pass(request(for: task, in: room, to: other), to: other),
            200..<300 ~= answer.status
        else { return false }
        do {
            try await onBegin()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (pieces, queue) = AsyncThrowingStream.makeStream(
                    of: ByteBuffer.self, bufferingPolicy: .bufferingOldest(Self.mostPending))
                group.addTask {
                    do {
                        try await answer.forEachPiece { piece in
                            // If the program waits for its reader, it is read again from the newest keyframe on.
                            if case .dropped = queue.yield(piece) { throw CancellationError() }
                        }
                        queue.finish()
                    } catch { queue.finish(throwing: error) }
                }
                group.addTask { [node] in
                    while !node.has(room) { try await Task.sleep(for: Self.interval) }
                    queue.finish()
                }
                for try await piece in pieces { try await onBytes(piece) }
                group.cancelAll()
            }
        } catch {
            // It is requested again if it goes on.
        }
        return true
    }

    package func mayHave(_ task: TaskID) async -> Bool {
        guard let room = registry.room(of: task), !node.has(room) else { return false }
        return (try? await node.otherHolder(of: room)) != nil
    }

    /// Maximum number of pieces of a program that wait.
    private static let mostPending = 1024

    private func request(for task: TaskID, in room: RoomID, to other: NodeProfile) -> NodeExchange.Passed {
        let name = PercentEncoding.encoded(task.name)
        return NodeExchange.Passed(
            method: "GET", target: "\(room.livePath).flv?task=\(name)",
            headers: [
                (name: NodeExchange.keyHeader, value: other.key), (name: NodeExchange.carriedHeader, value: "1"),
            ], body: nil)
    }
}
