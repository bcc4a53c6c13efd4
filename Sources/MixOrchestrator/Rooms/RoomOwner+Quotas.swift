import MixModel

/// What a change that is asked for from outside takes of its app's share.
extension RoomOwner {
    /// Whether the change is the one that has the room stored.
    func makesRoom(_ draft: RoomDraft) -> Bool { room.version == 0 && draft.makesRoom && !draft.deletesRoom }

    /// Takes what the change needs. What becomes of less than before is always let through, and so is what a room above
    /// a quota does without growing.
    ///
    /// - Throws: When the app may not have more; nothing is taken then.
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

    /// The change did not come to be.
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

    /// The task waits and has waited: neither its load nor its share is another.
    func isAtRest(_ machine: TaskMachine, at index: Int) -> Bool {
        machine.isAtRest && index < tasks.count && tasks[index].machine.document.isAtRest
    }

    /// By how many bytes the room's document grows, about.
    private func growth(to new: Room) -> Int { new.weight - (room.version > 0 ? room.document.weight : 0) }

    /// Counts the room's document as it is stored now; `nil` = it is deleted.
    func countBytes(of new: Room?) {
        let bytes = new.map(growth) ?? -(room.version > 0 ? room.document.weight : 0)
        if bytes != 0 { services.quotas.count(rooms: 0, bytes: bytes, of: app) }
        if new == nil, room.version > 0 { services.quotas.removeRoom(of: app) }
    }
}
