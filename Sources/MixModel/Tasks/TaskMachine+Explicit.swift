/// Explicit tasks, created by API in addition to the one that a room gets automatically.
///
/// An explicit task has complete settings of its own: a setting that is left out has its default, not the room's value.
/// The task starts with the room's first stream, and ends and comes back like an automatic one. Its deletion or its
/// room's ends it for good; so does idleness if its `whenIdle` policy says so.
extension TaskMachine {
    /// Creates an explicit task.
    ///
    /// - Parameters:
    ///   - revision: Revision of the last plan of a task that had this id before.
    ///   - attachment: Data that the task's creator keeps with it.
    public init(
        id: TaskID, room: RoomID, settings: RoomSettings, version: Int64, revision: Int = 0, attachment: String? = nil
    ) {
        self.init(id: id, room: room)
        self.settings = settings
        self.attachment = attachment
        self.revision = revision
        settingsVersion = version
    }

    /// Whether the task was created by API and not by the room's outputs.
    public var isExplicit: Bool { settings != nil }

    /// Whether the task has ended for good, and its relay too.
    public var isFinished: Bool {
        if case .finished = phase { true } else { false }
    }

    /// Whether the task was ended by a request of the creator who keeps data with it. The creator knows, and no other
    /// client asks for the task.
    public var isDisposable: Bool { attachment != nil && phase == .finished(.requested) }

    /// Whether the final end of the task is under way, or over.
    public var isFinishing: Bool {
        switch phase {
        case .ending(.requested): isExplicit
        case .ending(.idle): finishesWhenIdle
        case .ending(.roomClosed): finishesWithRoom
        case .ending(.roomDeleted), .finished: true
        default: false
        }
    }

    /// Returns the room with the task's own settings in place of the room's.
    public func seen(_ room: Room) -> Room {
        guard let settings else { return room }
        var room = room
        room.settings = settings
        return room
    }

    /// Whether a request for a new task with these settings is the one that created this task.
    public func wasMade(with settings: RoomSettings) -> Bool {
        isExplicit && (firstSettings ?? self.settings) == settings
    }

    /// Changes the settings of an explicit task. The owner follows up with `roomChanged`.
    ///
    /// - Parameter attachment: Data that the task's creator keeps with it from now on. A task that has such data is
    ///   never requested again with its first settings, so these are not kept.
    public mutating func change(to settings: RoomSettings, version: Int64, attachment: String? = nil) {
        guard isExplicit, settings != self.settings || attachment != self.attachment else { return }
        if self.attachment == nil { firstSettings = firstSettings ?? self.settings }
        self.settings = settings
        self.attachment = attachment
        settingsVersion = version
    }

    // MARK: Idleness

    /// Whether the task ends for good when it is idle.
    var finishesWhenIdle: Bool { isExplicit && settings?.policy.whenIdle != .wait }

    /// Whether the task ends for good when the room is closed.
    var finishesWithRoom: Bool { isExplicit && settings?.policy.whenIdle == .finishWithRoom }

    /// Whether the room has no stream that the program could show. A task that ends with its room also requires that
    /// the room is empty.
    func isIdle(_ room: Room, _ context: PlanningContext) -> Bool {
        !context.hasStreams(for: room) && (!finishesWithRoom || room.participants.isEmpty)
    }

    func idleSeconds(_ room: Room) -> Int {
        if finishesWithRoom, revision == 0 { return RoomPolicy.longestWait }
        return room.settings.policy.maxIdleSeconds
    }

    /// Ends the task for good if it is time, or watches for idleness, while no relay is wanted.
    mutating func watchWaiting(_ room: Room, _ context: PlanningContext, _ cause: Cause) -> [TaskAction] {
        guard finishesWhenIdle else { return [] }
        if room.isOpen { sawOpenRoom = true }
        if finishesWithRoom, !room.isOpen, sawOpenRoom == true { return finish(.roomClosed, cause) }
        return watchIdleness(room, context, cause.receivedAt)
    }

    /// Ends an explicit task for good.
    public mutating func finish(_ reason: EndReason, _ cause: Cause) -> [TaskAction] {
        let entry = TimelineEntry(
            kind: .decision, message: "task ends permanently: \(reason.rawValue)", cause: cause.summary,
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
