/// A recording that a relay is to make of its program.
public struct PlannedRecording: Hashable, Codable, Sendable {
    /// Settings of the recording. A relay that already makes it goes on; another one with the same id and directory may
    /// continue its file.
    public var settings: RecordingSettings
    /// Absolute path for the room's files. Created if it does not exist.
    public var directory: String
    /// Free space on the disk below which the recording ends, in bytes.
    public var keepFreeBytes: Int64

    public var id: String { settings.id }

    public init(settings: RecordingSettings, directory: String, keepFreeBytes: Int64) {
        self.settings = settings
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
    }
}

/// The place where a service keeps its recordings.
public struct RecordingPlace: Hashable, Codable, Sendable {
    /// Absolute path.
    public var directory: String
    /// Free space on the disk below which recordings end, in bytes.
    public var keepFreeBytes: Int64

    public static let defaultKeepFreeBytes: Int64 = 512 << 20

    public init(directory: String, keepFreeBytes: Int64 = RecordingPlace.defaultKeepFreeBytes) {
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
    }

    /// Returns the directory of a room's files. Rooms of different tenants or names never share one.
    public func directory(of room: RoomID) -> String { directory + "/" + FileName.safe(room.rawValue) }

    public func plan(_ settings: RecordingSettings, of room: RoomID) -> PlannedRecording {
        PlannedRecording(settings: settings, directory: directory(of: room), keepFreeBytes: keepFreeBytes)
    }
}
