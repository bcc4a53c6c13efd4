/// A message from a worker to the service's own Unix socket for programs: one JSON object per line.
///
/// A worker that plays a program reads it from its relay. While no relay of this node has the program, the service reads it
/// from the node that does.
public enum ProgramRequest: Hashable, Codable, Sendable {
    /// The first line of a connection. The service answers with raw FLV bytes, as a relay does (`RelayCommand.viewFLV`), for
    /// as long as another node has the program, and then closes the connection; at once if none has it.
    case view(TaskID, room: RoomID)
    /// A viewer needs a keyframe. Relays read the same line.
    case requestKeyframe

    /// Longest line, in bytes.
    public static let longestLine = 4096
}

/// The way to a program of a room while no relay of this node has it.
public struct ProgramDetour: Hashable, Codable, Sendable {
    /// Path of the service's Unix socket.
    public var socket: String
    public var task: TaskID
    public var room: RoomID

    public init(socket: String, task: TaskID, room: RoomID) {
        self.socket = socket
        self.task = task
        self.room = room
    }
}
