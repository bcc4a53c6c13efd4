import MixModel

/// The share of the app's quotas that a requested change takes.
extension RoomOwner {
    /// Whether the change stores the room for the first time.
    func makesRoom(_ draft: RoomDraft) -> Bool { room.version == 0 && draft.makesRoom && !draft.deletesRoom }

    /// Takes the share that the change needs. A change that reduces the use is always allowed, and so is a change
    /// without growth in a room that is above a quota.
    ///
    /// - Throws: `OrchestratorError` when the app may not have more. Nothing is taken then.
    func takeShare(for draft: RoomDraft) throws(OrchestratorError) {
        let people = draft.room.participants.count
        if people > room.document.participants.count, people > quotas[.participants] {
            throw .overQuota(.participants, quotas[.participants], app)
        }
        if !services.quotas.mayGrow(app), growth(to: draft.room) > 0 {
            throw .overQuota(.storedBytes, quotas[.storedBytes], app)
        }
        if makesRoom(draft) { try services.quotas.addRoom(of: app) }
        do throws(OrchestratorError) {
            for (index, new) in draft.tasks.enumerated() where !isAtRest(new.machine, at: index) {
                try services.quotas.take(new.machine)
            }
        } catch {
            giveBackShare(of: draft)
            throw error
        }
    }

    /// Gives back the share of a change that was not stored.
    func giveBackShare(of draft: RoomDraft) {
        if makesRoom(draft) { services.quotas.removeRoom(of: app) }
        for (index, new) in draft.tasks.enumerated() {
            if index < tasks.count {
                services.quotas.settle(tasks[index].machine.document)
            } else {
                services.quotas.release(new.machine.id)
            }
        }
    }

    /// Whether the task is at rest before and after the change, so that neither its load nor its share changes.
    func isAtRest(_ machine: TaskMachine, at index: Int) -> Bool {
        machine.isAtRest && index < tasks.count && tasks[index].machine.document.isAtRest
    }

    /// Returns the approximate growth of the room's document, in bytes.
    private func growth(to new: Room) -> Int { new.weight - (room.version > 0 ? room.document.weight : 0) }

    /// Counts the bytes of the room's document as it is stored now; `nil` = it is deleted.
    func countBytes(of new: Room?) {
        let bytes = new.map(growth) ?? -(room.version > 0 ? room.document.weight : 0)
        if bytes != 0 { services.quotas.count(rooms: 0, bytes: bytes, of: app) }
        if new == nil, room.version > 0 { services.quotas.removeRoom(of: app) }
    }
}
