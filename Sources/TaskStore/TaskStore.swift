import MixModel

/// Where rooms, tasks, events and the versions of layouts live so that they survive a crash at any instruction.
///
/// Documents carry a version; writing one names the version it was read at, and a write that lost a race is refused. All
/// of one `StoreChange` is stored, or none of it. `commit` returns only when the change is durable.
///
/// Every implementation passes the conformance suite in `TaskStoreTests`.
public protocol TaskStore: RoomQueries {
    /// - Throws: `StoreError.conflict` when a document is not at the expected version: nothing is stored then.
    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult
    func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>?
    /// Ordered by id.
    func rooms() async throws(StoreError) -> [Versioned<Room>]
    func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>?
    /// Ordered by id.
    func tasks() async throws(StoreError) -> [Versioned<TaskMachine>]
    /// Newest first.
    func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry]
    /// Newest first.
    func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord]
    /// The room's events as they were accepted, oldest first.
    func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent]
    /// The newest version of each layout, ordered by name.
    func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion]
    /// Newest first.
    func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion]
    /// The file as it was; `nil` when this version is not kept (any more).
    func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]?
    /// Newest first.
    func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent]
    /// After this every call throws. Waits for writes under way.
    func close() async
}

/// A document as it was read.
public struct Versioned<Document: Hashable & Sendable>: Hashable, Sendable {
    public var document: Document
    /// 1 for the first version stored.
    public var version: Int

    public init(_ document: Document, version: Int) {
        self.document = document
        self.version = version
    }
}

/// One atomic change.
public struct StoreChange: Sendable {
    /// Appended to the event log. When its `source` and `id` are there already, nothing of the change is stored.
    public var event: RoomEvent?
    public var room: Write<Room>?
    /// What becomes of each task that it is about.
    public var tasks: [TaskChange]
    /// A new version of a layout. Its number has to be greater than all before: `StoreError.conflict` otherwise.
    public var layoutVersion: NewLayoutVersion?
    public var layoutEvent: LayoutEvent?

    public init(
        event: RoomEvent? = nil, room: Write<Room>? = nil, tasks: [TaskChange] = [],
        layoutVersion: NewLayoutVersion? = nil, layoutEvent: LayoutEvent? = nil
    ) {
        self.event = event
        self.room = room
        self.tasks = tasks
        self.layoutVersion = layoutVersion
        self.layoutEvent = layoutEvent
    }

    /// What becomes of one task and of what is kept about it.
    public struct TaskChange: Sendable {
        public var id: TaskID
        /// `nil` leaves the document as it is.
        public var write: Write<TaskMachine>?
        /// Appended, oldest first.
        public var timeline: [StampedEntry]
        /// Appended, oldest first.
        public var switches: [SwitchRecord]

        public init(
            id: TaskID, write: Write<TaskMachine>? = nil, timeline: [StampedEntry] = [],
            switches: [SwitchRecord] = []
        ) {
            self.id = id
            self.write = write
            self.timeline = timeline
            self.switches = switches
        }
    }

    /// What becomes of one document.
    public enum Write<Document: Hashable & Sendable>: Sendable {
        /// Stored as version `expected + 1`; `expected` 0 = the document must not be there yet.
        case put(Document, expected: Int)
        case delete(id: String, expected: Int)
    }
}

/// What became of a change that was not refused.
public enum CommitResult: Hashable, Sendable {
    case committed
    /// The event was stored before.
    case duplicate
}

/// A timeline entry with the time it was made.
public struct StampedEntry: Hashable, Codable, Sendable {
    /// Seconds since 1970.
    public var at: Double
    public var entry: TimelineEntry
    /// Greater than that of every entry before it; `nil` in entries of older versions.
    public var number: Int64?

    public init(at: Double, entry: TimelineEntry, number: Int64? = nil) {
        self.at = at
        self.entry = entry
        self.number = number
    }
}

/// How much is kept of one task or one layout; older entries are dropped now and then.
public enum Retention {
    public static let timelineEntries = 1000
    public static let switches = 200
    /// Dropped at once: the newest so many are there, no more.
    public static let layoutVersions = 100
    public static let layoutEvents = 200
}
