import MixModel
import NIOCore

/// Access to programs of rooms that other nodes have.
package protocol ProgramsElsewhere: Sendable {
    /// Reads a task's program from the node that has its room, until the program ends there, the room is at this node again, or a
    /// third one has it.
    ///
    /// - Parameters:
    ///   - room: The task's room.
    ///   - onBegin: Called once, before the first bytes.
    ///   - onBytes: Takes FLV bytes. Bytes are not read faster than it returns.
    /// - Returns: False if no other node has the program.
    func view(
        _ task: TaskID, of room: RoomID, onBegin: @Sendable () async throws -> Void,
        onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool

    /// Does the same for a task whose room this node has had.
    func view(
        _ task: TaskID, onBegin: @Sendable () async throws -> Void, onBytes: (ByteBuffer) async throws -> Void
    ) async -> Bool

    /// Asks for a keyframe of the program. May have no effect.
    func requestKeyframe(of task: TaskID, in room: RoomID) async

    /// Returns whether another node has the room of a task.
    func mayHave(_ task: TaskID) async -> Bool
}
