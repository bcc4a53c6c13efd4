/// Explicit tasks, created through the API in addition to the one that a room gets automatically.
///
/// An explicit task has its own complete settings: a setting that is left out has its default, not the room's value.
/// The task starts with the room's first stream, and ends and comes back like an automatic one. The deletion of the
/// task or of its room ends it permanently; so does idleness if its `whenIdle` policy says so.
extension TaskMachine {
    /// Creates an explicit task.
    ///
    /// - Parameters:
    ///   - revision: Revision of the last plan of an earlier task with this identifier.
    ///   - attachment: Data that the task's creator attaches to it.
    public init(
        id: TaskID, room: RoomID, settings: RoomSettings, version: Int64, revision: Int = 0, attachment: String? = nil
    ) {
        let creation = Creation(settings: settings, version: version, attachment: attachment)
        self.init(id: id, room: room, origin: .explicit(creation), state: .waiting(Waiting()), revision: revision)
    }

    /// Returns the room with the task's own settings in place of the room's.
    public func seen(_ room: Room) -> Room {
        guard let settings else { return room }
        var room = room
        room.settings = settings
        return room
    }

    /// Returns whether this task was created by a request with these settings.
    public func wasMade(with settings: RoomSettings) -> Bool {
        guard case .explicit(let creation) = origin else { return false }
        return (creation.firstSettings ?? creation.settings) == settings
    }

    /// Changes the settings of an explicit task. The owner calls `roomChanged` afterwards.
    ///
    /// - Parameter attachment: Data that the task's creator attaches to it from now on. A task with an attachment is
    ///   never requested again with its first settings, so these are not kept.
    public mutating func change(to settings: RoomSettings, version: Int64, attachment: String? = nil) {
        guard case .explicit(var creation) = origin,
            settings != creation.settings || attachment != creation.attachment
        else { return }
        if creation.attachment == nil { creation.firstSettings = creation.firstSettings ?? creation.settings }
        creation.settings = settings
        creation.attachment = attachment
        creation.version = version
        origin = .explicit(creation)
    }

    // MARK: The final end

    /// Whether the task ends permanently when it is idle.
    var finishesWhenIdle: Bool {
        if case .explicit(let creation) = origin { creation.settings.policy.whenIdle != .wait } else { false }
    }

    /// Whether the task ends permanently when the room is closed.
    var finishesWithRoom: Bool {
        if case .explicit(let creation) = origin { creation.settings.policy.whenIdle == .finishWithRoom } else { false }
    }

    /// Returns whether a task whose program ends for the reason ends permanently.
    func finishes(after reason: EndReason) -> Bool {
        switch reason {
        case .roomDeleted, .scheduled: true
        case .requested: isExplicit
        case .idle: finishesWhenIdle
        case .roomClosed: finishesWithRoom
        case .hostLeft, .noOutputs, .noCapacity: false
        }
    }

    /// Ends an explicit task permanently.
    public mutating func finish(_ reason: EndReason, _ cause: Cause) -> [TaskAction] {
        switch state {
        case .finished:
            return []
        case .waiting(let waiting):
            state = .finished(Finished(reason: reason, refusal: waiting.refusal, lastRelay: waiting.lastRelay))
        case .held(let held):
            state = .finished(Finished(reason: reason, lastRelay: held.lastRelay))
        case .ending(var ending):
            ending.reason = reason
            state = .ending(ending)
        case .onAir(let onAir):
            return end(onAir, reason, cause)
        }
        let entry = TimelineEntry(
            kind: .decision, message: "task ends permanently: \(reason.rawValue)", cause: cause.summary,
            causes: cause.chain)
        return [.record(entry)]
    }
}
