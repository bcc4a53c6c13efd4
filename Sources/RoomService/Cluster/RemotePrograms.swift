import EncodedMedia
import MixModel
import NIOCore
import Synchronization
import TaskStore
import TextFormats

/// Programs of rooms that other nodes have, for viewers who were admitted here and stay.
package final class RemotePrograms: ProgramsElsewhere {
    private let node: ClusterNode
    private let exchange: NodeExchange
    private let registry: RoomRegistry
    private let refusals = Mutex(LogLimit())

    /// Time between two checks whether the room is back, and their number for each check whether it is at a third node.
    private static let interval: Duration = .milliseconds(100)
    private static let checks = 10
    /// Time between two checks whether the number of viewers here has changed.
    private static let countInterval: Duration = .seconds(1)

    package init(node: ClusterNode, exchange: NodeExchange, registry: RoomRegistry) {
        self.node = node
        self.exchange = exchange
        self.registry = registry
    }

    package func view(
        _ task: TaskID, onBegin: @Sendable () async throws -> Void, onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool {
        guard let room = registry.room(of: task) else { return false }
        return await view(task, of: room, onBegin: onBegin, onBytes: onBytes)
    }

    package func view(
        _ task: TaskID, of room: RoomID, onBegin: @Sendable () async throws -> Void,
        onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool {
        guard !node.has(room), let other = try? await node.otherHolder(of: room),
            let answer = await ask(other, request(for: task, in: room, to: other), about: room)
        else { return false }
        guard 200..<300 ~= answer.status else {
            // 404: the program has ended, or has not begun.
            if answer.status != 404, refusals.withLock({ $0.permitsLine(at: MonotonicClock.now()) }) {
                node.logger.warning(
                    "cannot read a program: the node \(other.name) answers \(answer.status)",
                    metadata: ["task": "\(task)", "room": "\(room)"])
            }
            return false
        }
        do {
            try await onBegin()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Bounded by the backlog.
                let (pieces, queue) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
                let backlog = ProgramBacklog()
                group.addTask {
                    do {
                        try await answer.forEachPiece { piece in
                            // If the program waits for its reader, it is read again from the newest keyframe on.
                            try await backlog.waitForSpace()
                            backlog.add(piece)
                            queue.yield(piece)
                        }
                        queue.finish()
                    } catch { queue.finish(throwing: error) }
                }
                group.addTask {
                    try await self.stays(room, at: other)
                    queue.finish()
                }
                group.addTask { try await self.tellViewers(of: task, to: other) }
                for try await piece in pieces {
                    try await onBytes(piece)
                    backlog.remove(piece)
                }
                group.cancelAll()
            }
        } catch {
            // It is requested again if it goes on.
        }
        return true
    }

    /// Asks another node, and returns when its answer begins; `nil` if the node cannot be reached, or the room is no longer there
    /// before it has answered.
    private func ask(
        _ other: NodeProfile, _ request: NodeExchange.Passed, about room: RoomID
    ) async -> NodeExchange.Answer? {
        await withTaskGroup(of: NodeExchange.Answer?.self) { group in
            group.addTask { [exchange] in try? await exchange.pass(request, to: other) }
            group.addTask {
                try? await self.stays(room, at: other)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Returns when the room is no longer at the other node, which would not end its answer if it stands still.
    ///
    /// - Throws: `CancellationError`.
    private func stays(_ room: RoomID, at other: NodeProfile) async throws {
        var count = 0
        while !node.has(room) {
            try await Task.sleep(for: Self.interval)
            count += 1
            guard count.isMultiple(of: Self.checks) else { continue }
            let now = try? await node.otherHolder(of: room, isFreshWanted: false)
            // While it has no node, or that is not known, the program may go on.
            if let now, now.key != other.key { return }
        }
    }

    /// Tells the room's node the number of viewers here, at once and after each change, until it is cancelled.
    ///
    /// - Throws: `CancellationError`.
    private func tellViewers(of task: TaskID, to other: NodeProfile) async throws {
        var told: Int?
        while true {
            let count = registry.services.viewers.viewersAtNode(of: task)
            if count != told {
                let answer = try? await exchange.post(
                    StreamOrder.viewers(task, node: ownName, count: count), to: NodeExchange.streamsPath, of: other,
                    within: StreamPatience.quickAnswer)
                if answer != nil { told = count }
            }
            try await Task.sleep(for: Self.countInterval)
        }
    }

    /// The node's name among nodes that it reads programs from, in ASCII.
    private var ownName: String { PercentEncoding.encoded(node.settings.name) }

    package func requestKeyframe(of task: TaskID, in room: RoomID) async {
        guard !node.has(room), let other = try? await node.otherHolder(of: room, isFreshWanted: false) else { return }
        _ = try? await exchange.post(
            StreamOrder.requestKeyframe(task), to: NodeExchange.streamsPath, of: other,
            within: StreamPatience.quickAnswer)
    }

    package func mayHave(_ task: TaskID) async -> Bool {
        guard let room = registry.room(of: task), !node.has(room) else { return false }
        return (try? await node.otherHolder(of: room)) != nil
    }

    private func request(for task: TaskID, in room: RoomID, to other: NodeProfile) -> NodeExchange.Passed {
        let name = PercentEncoding.encoded(task.name)
        return NodeExchange.Passed(
            method: "GET", target: "\(room.livePath).flv?task=\(name)",
            headers: [
                (name: NodeExchange.keyHeader, value: other.key), (name: NodeExchange.carriedHeader, value: ownName),
            ], body: nil)
    }
}
