/// The place where a service keeps its recordings.
public struct RecordingPlace: OutputPlace {
    /// Absolute path.
    public var directory: String
    /// Free space on the disk below which recordings end, in bytes.
    public var keepFreeBytes: Int64
    /// Name of the node in its cluster; `nil` for a service that runs alone.
    public var node: String?

    public static let defaultKeepFreeBytes: Int64 = 512 << 20

    public init(
        directory: String, keepFreeBytes: Int64 = RecordingPlace.defaultKeepFreeBytes, node: String? = nil
    ) {
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
        self.node = node
    }

    /// Returns the directory of a room's files. Rooms of different tenants or names never share one.
    public func directory(of room: RoomID) -> String { directory + "/" + FileName.safe(room.rawValue) }

    public func plan(_ settings: RecordingSettings, of room: RoomID) -> PlannedRecording {
        PlannedRecording(settings: settings, directory: directory(of: room), keepFreeBytes: keepFreeBytes, node: node)
    }
}
