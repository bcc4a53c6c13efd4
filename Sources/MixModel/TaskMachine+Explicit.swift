/// Tasks that were made by API, beside the one that a room gets by itself.
///
/// An explicit task has settings of its own, complete in themselves: what they leave out has its default and not the
/// room's value. It starts with the room's first stream and ends and comes back like an automatic one; only its deletion,
/// or its room's, ends it for good.
extension TaskMachine {
    /// - Parameter revision: Of the last plan of a task that had this id before.
    public init(id: TaskID, room: RoomID, settings: RoomSettings, version: Int64, revision: Int = 0) {
        self.init(id: id, room: room)
        self.settings = settings
        self.revision = revision
        settingsVersion = version
    }

    /// Made by API; not by the room's outputs.
    public var isExplicit: Bool { settings != nil }

    /// Ended for good, its relay too.
    public var isFinished: Bool {
        if case .finished = phase { true } else { false }
    }

    /// Its last end is under way, or over.
    public var isFinishing: Bool {
        switch phase {
        case .ending(.requested): isExplicit
        case .ending(.roomDeleted), .finished: true
        default: false
        }
    }

    /// The room with the task's own settings in place of the room's.
    public func seen(_ room: Room) -> Room {
        guard let settings else { return room }
        var room = room
        room.settings = settings
        return room
    }

    /// Whether a request for a new task with these settings is the one that made this task.
    public func wasMade(with settings: RoomSettings) -> Bool {
        isExplicit && (firstSettings ?? self.settings) == settings
    }

    /// Other settings for an explicit task; the owner follows it with `roomChanged`.
    public mutating func change(to settings: RoomSettings, version: Int64) {
        guard isExplicit, settings != self.settings else { return }
        firstSettings = firstSettings ?? self.settings
        self.settings = settings
        settingsVersion = version
    }

    /// Ends an explicit task for good.
    public mutating func finish(_ reason: EndReason, _ cause: Cause) -> [TaskAction] {
        let entry = TimelineEntry(
            kind: .decision, message: "task ends for good: \(reason.rawValue)", cause: cause.summary,
            causes: cause.id.map { [$0] })
        switch phase {
        case .finished:
            return []
        case .waiting, .held:
            phase = .finished(reason)
            return [.record(entry)]
        case .ending:
            phase = .ending(reason)
            return [.record(entry)]
        case .starting, .running, .recovering:
            return end(reason, cause)
        }
    }
}
