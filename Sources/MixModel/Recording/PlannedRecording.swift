/// A recording that a relay shall make of its program.
public struct PlannedRecording: Hashable, Codable, Sendable {
    /// A relay that has it already goes on; another one with the same id and directory may continue its file.
    public var settings: RecordingSettings
    /// Where the room's files go: absolute. Made when it is not there.
    public var directory: String
    /// The recording ends when the disk has less than this to spare, in bytes.
    public var keepFreeBytes: Int64

    public var id: String { settings.id }

    public init(settings: RecordingSettings, directory: String, keepFreeBytes: Int64) {
        self.settings = settings
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
    }
}

/// Where a service keeps its recordings.
public struct RecordingPlace: Hashable, Codable, Sendable {
    /// Absolute.
    public var directory: String
    /// In bytes.
    public var keepFreeBytes: Int64

    public static let defaultKeepFreeBytes: Int64 = 512 << 20

    public init(directory: String, keepFreeBytes: Int64 = RecordingPlace.defaultKeepFreeBytes) {
        self.directory = directory
        self.keepFreeBytes = keepFreeBytes
    }

    /// The files of one room are together; rooms of different tenants or names never are.
    public func directory(of room: RoomID) -> String { directory + "/" + FileName.safe(room.rawValue) }

    public func plan(_ settings: RecordingSettings, of room: RoomID) -> PlannedRecording {
        PlannedRecording(settings: settings, directory: directory(of: room), keepFreeBytes: keepFreeBytes)
    }
}
