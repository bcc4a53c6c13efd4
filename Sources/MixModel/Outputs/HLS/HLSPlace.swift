/// The place where a service keeps its HLS.
public struct HLSPlace: OutputPlace {
    /// Absolute path of the directory of all rooms.
    public let directory: String

    public init(directory: String) { self.directory = directory }

    /// Returns the directory of a room. Rooms of different tenants or names never share one.
    public func directory(of room: RoomID) -> String {
        "\(directory)/\(FileName.safe(room.app.rawValue))/\(FileName.safe(room.name))"
    }
}
