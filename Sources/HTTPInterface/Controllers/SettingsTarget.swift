import Hummingbird
import MixModel
import RoomService

/// The settings that a request names: a task's own, or a room's, which need not have been on air.
struct SettingsTarget {
    let owner: RoomOwner
    /// Task that pushes to the outputs.
    let id: TaskID
    /// Name of the task or of the room, for messages.
    let name: String
    /// Whether the settings are the task's own and not the room's.
    let isExplicit: Bool
    let settings: RoomSettings
    /// Name of the layout, which may be the default one.
    let layout: String
    /// Outputs of the settings, or else the configured ones.
    let outputs: [OutputID]
    let tag: SettingsTag

    /// Task of a change; `nil` means that the change concerns the room.
    var task: TaskID? { isExplicit ? id : nil }
}

extension RoomRegistry {
    /// Returns the settings that the path names: those of `{task}`, or those of `{room}`.
    ///
    /// - Throws: `OrchestratorError` if the task or the room does not exist, and the errors of `taskID` and `roomID`.
    func settings(_ context: OrchestratorContext) async throws -> SettingsTarget {
        if context.parameters.get("task") != nil {
            let id = try context.taskID()
            let (owner, view, tag) = try await task(id)
            let state = await owner.snapshot
            return SettingsTarget(
                owner: owner, id: id, name: id.name, isExplicit: view.kind == .explicit,
                settings: state.task(id)?.machine.document.settings ?? state.room.document.settings,
                layout: view.settings.layout, outputs: view.settings.outputs.map(\.id), tag: tag)
        }
        let room = try context.roomID()
        guard let owner = try await reader(room), case let state = await owner.snapshot, state.isStored else {
            throw OrchestratorError.noRoom(room)
        }
        let document = state.room.document
        return SettingsTarget(
            owner: owner, id: .automatic(for: room), name: room.name, isExplicit: false, settings: document.settings,
            layout: services.layoutName(of: document), outputs: services.outputs(of: document).map(\.id),
            tag: SettingsTag(document.settingsVersion))
    }

    /// Returns the settings that a patch changes, and the state that it expects.
    ///
    /// - Throws: `OrchestratorError` if the body is not a patch, or the precondition is missing or does not hold, and
    ///   the errors of `settings(_:)`.
    func settings(
        toPatch request: Request, _ context: OrchestratorContext
    ) async throws -> (target: SettingsTarget, precondition: SettingsPrecondition) {
        try request.checkPatchType()
        let target = try await settings(context)
        let precondition = try SettingsPrecondition(request.headers)
        try precondition.required(target.tag)
        return (target, precondition)
    }
}
