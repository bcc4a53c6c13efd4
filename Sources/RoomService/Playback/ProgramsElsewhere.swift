import MixModel
import NIOCore

/// Access to programs of rooms that have moved to other nodes.
package protocol ProgramsElsewhere: Sendable {
    /// Reads a task's program from the node that has its room, until the program ends there or the room is at this node
    /// again.
    ///
    /// - Parameters:
    ///   - onBegin: Called once, before the first bytes.
    ///   - onBytes: Takes FLV bytes. Bytes are not read faster than it returns.
    /// - Returns: False if no other node has the program.
    func view(
        _ task: TaskID, onBegin: @Sendable () async throws -> Void, onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool

    /// Whether another node has the room of a task.
    func mayHave(_ task: TaskID) async -> Bool
}
