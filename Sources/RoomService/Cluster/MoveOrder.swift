import Foundation
import MixModel
import TaskStore

/// A node's request to another node during the move of a room.
package struct MoveOrder: Hashable, Codable, Sendable {
    package enum Step: String, Hashable, Codable, Sendable {
        /// Prepare relays to continue the room's programs. Answered when they are ready, or cannot be.
        case prepare
        /// The lease was passed: continue the programs.
        case take
        /// End what was prepared.
        case cancel
    }
    package var step: Step
    package var room: RoomID
    /// The feeds on air, by task; for `prepare`.
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
    /// Reason why the order was not carried out, in words.
    package var reason: String?
}

/// The outcome of a `MoveOrder` for its sender.
enum MoveReply: Hashable, Sendable {
    case done
    case refused(String)
    /// The node runs a release that does not support such orders.
    case unsupported
}

/// Sends orders to other nodes.
protocol MoveMessenger: Sendable {
    func send(_ order: MoveOrder, to node: NodeProfile, within limit: Duration) async -> MoveReply
}

extension NodeExchange: MoveMessenger {
    func send(_ order: MoveOrder, to node: NodeProfile, within limit: Duration) async -> MoveReply {
        do throws(OrchestratorError) {
            let answer = try await post(order, to: Self.movesPath, of: node, within: limit)
            if answer.isUnknown { return .unsupported }
            guard let told = answer.read(MoveAnswer.self) else {
                return .refused("the node \(node.name) answered \(answer.status)")
            }
            return told.isDone ? .done : .refused("the node \(node.name): \(told.reason ?? "not done")")
        } catch {
            return .refused(error.detail)
        }
    }
}
