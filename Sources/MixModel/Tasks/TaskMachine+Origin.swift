extension TaskMachine {
    /// The origin of a task.
    enum Origin: Hashable, Sendable {
        /// The task belongs to a room with outputs and has the room's settings.
        case automatic
        /// The task was created through the API and has its own settings. Out of line, because most tasks are
        /// automatic.
        indirect case explicit(Creation)
    }

    /// The request of an explicit task's creator.
    struct Creation: Hashable, Sendable {
        /// Settings in place of the room's.
        var settings: RoomSettings
        /// Version of the settings, as in `Room.settingsVersion`.
        var version: Int64?
        /// First settings, once they were changed; `nil` before. A repetition of the original request is answered with
        /// this task.
        var firstSettings: RoomSettings?
        /// Data that the creator attaches to the task, opaque here and bounded by the creator. May contain secrets.
        var attachment: String?
        /// Whether the room has been open since the task was created; a task may be created for a closed room.
        var sawOpenRoom = false
        /// Time of the creation, in seconds since 1970.
        var madeAt: Double?
    }

    /// The creation of an explicit task; `nil` for an automatic one.
    var creation: Creation? {
        if case .explicit(let creation) = origin { creation } else { nil }
    }
}

// MARK: - For readers

extension TaskMachine {
    /// Whether the task was created through the API and not because of the room's outputs.
    public var isExplicit: Bool {
        if case .explicit = origin { true } else { false }
    }

    /// Settings of an explicit task, in place of its room's; `nil` means that the task is automatic.
    public var settings: RoomSettings? { creation?.settings }

    /// Version of an explicit task's settings, as in `Room.settingsVersion`.
    public var settingsVersion: Int64? { creation?.version }

    /// Data that the creator of an explicit task attaches to it. May contain secrets.
    public var attachment: String? { creation?.attachment }

    /// Time at which an explicit task was created, in seconds since 1970. Set by the owner; an automatic task has none.
    public var madeAt: Double? {
        get { creation?.madeAt }
        set {
            guard case .explicit(var creation) = origin else { return }
            creation.madeAt = newValue
            origin = .explicit(creation)
        }
    }
}
