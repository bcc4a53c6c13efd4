import MixModel

/// An atomic change of the store.
public struct StoreChange: Sendable {
    /// Event to append to the event log. If its app already has an event with this `source` and `id`, nothing of the
    /// change is stored.
    public var event: RoomEvent?
    public var room: Write<Room>?
    /// The changes of tasks.
    public var tasks: [TaskChange]
    /// A new version of a layout. Its number must be greater than all earlier ones: `StoreError.conflict` otherwise.
    @Boxed public var layoutVersion: NewLayoutVersion?
    @Boxed public var layoutEvent: LayoutEvent?
    /// Write of a subscription. A deletion drops the messages that wait for it; the delivery log remains.
    @Boxed public var subscription: Write<Subscription>?
    /// Messages to deliver at least once. A message is not added if its identifier already exists or its subscription
    /// was deleted.
    public var outbox: [OutboxMessage]
    /// Leases that the writer must still hold: `StoreError.fenced` otherwise.
    public var require: [Requirement]
    /// Room that decided on the change; `nil` if none did. It is not stored: a node of a cluster adds its lease of the
    /// room to `require`.
    public var decidedBy: RoomID?

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

    /// The change of one task and of its history.
    public struct TaskChange: Sendable {
        public var id: TaskID
        /// Write of the document; `nil` leaves it unchanged.
        public var write: Write<TaskMachine>?
        /// Timeline entries to append, oldest first.
        public var timeline: [StampedEntry]
        /// Switches to append, oldest first.
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

    /// The write of one document.
    public enum Write<Document: Hashable & Sendable>: Sendable {
        /// Stores the document as version `expected + 1`. With `expected` 0 the document must not exist yet.
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

/// The result of a change that was not refused.
public enum CommitResult: Hashable, Sendable {
    case committed
    /// The event was already stored; nothing of the change was stored.
    case duplicate
}

/// A document with its version.
public struct Versioned<Document: Hashable & Sendable>: Hashable, Sendable {
    public var document: Document
    /// Version of the document: 1 for the first one stored.
    public var version: Int

    public init(_ document: Document, version: Int) {
        self.document = document
        self.version = version
    }
}

/// A timeline entry with the time at which it was made.
public struct StampedEntry: Hashable, Codable, Sendable {
    /// Time of the entry, in seconds since 1970.
    public var at: Double
    public var entry: TimelineEntry
    /// Sequence number, greater than that of every entry before it; `nil` in entries written by older versions.
    public var number: Int64?

    public init(at: Double, entry: TimelineEntry, number: Int64? = nil) {
        self.at = at
        self.entry = entry
        self.number = number
    }
}
