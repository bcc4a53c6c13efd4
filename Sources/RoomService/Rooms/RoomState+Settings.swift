import EventSubscription
import MixModel

/// Decisions about settings. Pure.
extension RoomState {
    /// The settings of a room or of an explicit task after a requested change.
    struct NewSettings {
        /// Task that pushes to the settings' outputs.
        var holder: TaskID
        /// Whether the settings are the holder's own, and not the room's.
        var isExplicit: Bool
        var settings: RoomSettings
        var attachment: String?
        /// Whether the room did not exist before.
        var isNew: Bool
        /// Idle media named by the settings that were not named before; `nil` = none.
        var newIdle: IdleSettings?
    }

    /// The effect of a requested change.
    enum Revision {
        case changed(NewSettings)
        /// The settings are already as requested.
        case unchanged(SettingsTag)
    }

    /// Computes the settings that a change requests.
    ///
    /// - Throws: `OrchestratorError` when the change is refused.
    func revising(_ change: SettingsChange, _ facts: some PlanningFacts) throws(OrchestratorError) -> Revision {
        let explicit = change.task.flatMap(task)?.machine.document
        if let task = change.task, explicit?.isFinishing != false { throw .taskEnded(task) }
        let isThere = explicit != nil || isStored
        let tag = SettingsTag(explicit?.settingsVersion ?? room.document.settingsVersion)
        try change.precondition.check(change.task?.name ?? id.name, isThere ? tag : nil)

        let seen = explicit?.seen(room.document) ?? room.document
        var new = NewSettings(
            holder: change.task ?? tasks[0].id, isExplicit: explicit != nil, settings: seen.settings,
            attachment: explicit?.attachment, isNew: !isThere)
        if let revise = change.revise {
            (new.settings, new.attachment) = try revise(seen.settings, new.attachment)
        } else {
            new.settings = try change.apply(seen.settings, facts.outputs(of: seen))
        }
        new.newIdle = new.settings.idle == seen.settings.idle ? nil : new.settings.idle
        guard new.settings != seen.settings || new.attachment != explicit?.attachment || !isThere else {
            return .unchanged(tag)
        }
        if explicit != nil, !change.mayLeaveNoOutput, new.settings.outputs?.isEmpty != false {
            throw .lastOutput(new.holder)
        }
        return .changed(new)
    }

    /// Puts the settings into effect.
    ///
    /// - Parameter version: Version of the settings.
    func applying(_ new: NewSettings, version: Int64, _ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        var draft = draft(cause: cause.id)
        draft.makesRoom = !new.isExplicit
        if new.isExplicit {
            draft.changeTask(new.holder) { machine, room in
                machine.change(to: new.settings, version: version, attachment: new.attachment)
                return replan(&machine, in: room, cause, .immediate, facts)
            }
        } else {
            draft.room.settings = new.settings
            draft.room.settingsVersion = version
            replan(&draft, cause, .immediate, facts)
        }
        return draft
    }
}
