import MixModel

/// One atomic change.
public struct StoreChange: Sendable {
    /// Appended to the event log. When its app has one of this `source` and `id` already, nothing of the change is
    /// stored.
    public var event: RoomEvent?
    public var room: Write<Room>?
    /// What becomes of each task that it is about.
    public var tasks: [TaskChange]
    /// A new version of a layout. Its number has to be greater than all before: `StoreError.conflict` otherwise.
    public var layoutVersion: NewLayoutVersion?
    public var layoutEvent: LayoutEvent?
    /// With a deletion what waits for it is dropped; the delivery log stays.
    public var subscription: Write<Subscription>?
    /// To be delivered at least once from now on. A message whose id is there already is not added again, nor one whose
    /// subscription is gone.
    public var outbox: [OutboxMessage]
    /// Leases that the writer must still hold: `StoreError.fenced` otherwise.
    public var require: [Requirement]

    public init(
        event: RoomEvent? = nil, room: Write<Room>? = nil, tasks: [TaskChange] = [],
        layoutVersion: NewLayoutVersion? = nil, layoutEvent: LayoutEvent? = nil,
        subscription: Write<Subscription>? = nil, outbox: [OutboxMessage] = [], require: [Requirement] = []
    ) {
        self.event = event
        self.room = room
        self.tasks = tasks
        self.layoutVersion = layoutVersion
        self.layoutEvent = layoutEvent
        self.subscription = subscription
        self.outbox = outbox
        self.require = require
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

    /// A task whose lease guards the change.
    public struct Requirement: Hashable, Sendable {
        public var task: TaskID
        public var fence: Fence

        public init(task: TaskID, fence: Fence) {
            self.task = task
            self.fence = fence
        }
    }
}

/// What became of a change that was not refused.
public enum CommitResult: Hashable, Sendable {
    case committed
    /// The event was stored before.
    case duplicate
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
