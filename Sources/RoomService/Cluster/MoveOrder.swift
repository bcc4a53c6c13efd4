import Foundation
import MixModel
import NIOCore
import TaskStore

/// A node's request to another one during the move of a room.
package struct MoveOrder: Hashable, Codable, Sendable {
    package enum Step: String, Hashable, Codable, Sendable {
        /// Make relays ready to go on with the room's programs. Answered when they are, or cannot be.
        case prepare
        /// The lease was passed: go on with the programs.
        case take
        /// End what was made ready.
        case cancel
    }
    package var step: Step
    package var room: RoomID
    /// What is on air, by task; for `prepare`.
    package var onAir: [String: OnAir]

    init(_ step: Step, _ room: RoomID, onAir: [TaskID: OnAir] = [:]) {
        self.step = step
        self.room = room
        self.onAir = Dictionary(uniqueKeysWithValues: onAir.map { ($0.key.rawValue, $0.value) })
    }
}

/// The answer to a `MoveOrder`.
package struct MoveAnswer: Hashable, Codable, Sendable {
    package var isDone: Bool
    /// Reason why it is not done, in words.
    package var reason: String?
}

/// What a node learns when it sends a `MoveOrder`.
enum MoveReply: Hashable, Sendable {
    case done
    case refused(String)
    /// The node is of a release that knows no such orders.
    case unsupported
}

/// Sends orders to other nodes.
protocol MoveMessenger: Sendable {
    func send(_ order: MoveOrder, to node: NodeProfile, within limit: Duration) async -> MoveReply
}

extension NodeExchange: MoveMessenger {
    /// Path to which nodes send their orders. It answers nodes alone.
    package static let movesPath = "/v1/node/moves"
    /// Header with the receiver's secret, which only a node can know.
    package static let keyHeader = "Mixorchestrator-Node-Key"
    /// Header of a request for a program whose viewers were let in by the node that had it.
    package static let carriedHeader = "Mixorchestrator-Carried"
    /// Longest answer that is read, in bytes.
    private static let longestAnswer = 1 << 16

    func send(_ order: MoveOrder, to node: NodeProfile, within limit: Duration) async -> MoveReply {
        await withTaskGroup(of: MoveReply.self) { group in
            group.addTask { await self.ask(order, node) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return .refused("the node \(node.name) does not answer within \(limit)")
            }
            defer { group.cancelAll() }
            return await group.next() ?? .unsupported
        }
    }

    private func ask(_ order: MoveOrder, _ node: NodeProfile) async -> MoveReply {
        do {
            let body = ByteBuffer(bytes: try JSONEncoder().encode(order))
            let headers = [(name: Self.keyHeader, value: node.key), (name: "Content-Type", value: "application/json")]
            let answer = try await pass(
                Passed(method: "POST", target: Self.movesPath, headers: headers, body: body), to: node)
            let bytes = try await answer.collect(upTo: Self.longestAnswer)
            if answer.status == 404 || answer.status == 405 { return .unsupported }
            guard 200..<300 ~= answer.status,
                let told = try? JSONDecoder().decode(MoveAnswer.self, from: Data(bytes.readableBytesView))
            else { return .refused("the node \(node.name) answered \(answer.status)") }
            return told.isDone ? .done : .refused("the node \(node.name): \(told.reason ?? "not done")")
        } catch let error as OrchestratorError {
            return .refused(error.detail)
        } catch {
            return .refused("the node \(node.name) does not answer: \(error)")
        }
    }
}
