/// Tasks that were made by API, beside the one that a room gets by itself.
///
/// An explicit task has settings of its own, complete in themselves: what they leave out has its default and not the
/// room's value. It starts with the room's first stream and ends and comes back like an automatic one; only its deletion,
/// or its room's, ends it for good.
extension TaskMachine {
    /// - Parameters:
    ///   - revision: Of the last plan of a task that had this id before.
    ///   - attachment: What its maker keeps with it.
    public init(
        id: TaskID, room: RoomID, settings: RoomSettings, version: Int64, revision: Int = 0, attachment: String? = nil
    ) {
        self.init(id: id, room: room)
        self.settings = settings
        self.attachment = attachment
        self.revision = revision
        settingsVersion = version
    }

    /// Made by API; not by the room's outputs.
    public var isExplicit: Bool { settings != nil }

    /// Ended for good, its relay too.
    public var isFinished: Bool {
        if case .finished = phase { true } else { false }
    }

    /// Ended by whoever keeps something with it: they know, and nobody else asks for it.
    public var isDisposable: Bool { attachment != nil && phase == .finished(.requested) }

    /// Its last end is under way, or over.
    public var isFinishing: Bool {
        switch phase {
        case .ending(.requested): isExplicit
        case .ending(.idle): finishesWhenIdle
        case .ending(.roomClosed): finishesWithRoom
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
    ///
    /// - Parameter attachment: What its maker keeps with it from now on; such a task is never asked for again as it was.
    public mutating func change(to settings: RoomSettings, version: Int64, attachment: String? = nil) {
        guard isExplicit, settings != self.settings || attachment != self.attachment else { return }
        if self.attachment == nil { firstSettings = firstSettings ?? self.settings }
        self.settings = settings
        self.attachment = attachment
        settingsVersion = version
    }

    // MARK: Idleness

    /// An idle end is its last.
    var finishesWhenIdle: Bool { isExplicit && settings?.policy.whenIdle != .wait }

    /// The room's closing is its end.
    var finishesWithRoom: Bool { isExplicit && settings?.policy.whenIdle == .finishWithRoom }

    /// Nobody whom the program could show is there.
    func isIdle(_ room: Room, _ context: PlanningContext) -> Bool {
        !context.hasStreams(for: room) && (!finishesWithRoom || room.participants.isEmpty)
    }

    func idleSeconds(_ room: Room) -> Int {
        if finishesWithRoom, revision == 0 { return RoomPolicy.longestWait }
        return room.settings.policy.maxIdleSeconds
    }

    /// While no relay is wanted.
    mutating func watchWaiting(_ room: Room, _ context: PlanningContext, _ cause: Cause) -> [TaskAction] {
        guard finishesWhenIdle else { return [] }
        if room.isOpen { sawOpenRoom = true }
        if finishesWithRoom, !room.isOpen, sawOpenRoom == true { return finish(.roomClosed, cause) }
        return watchIdleness(room, context, cause.receivedAt)
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
