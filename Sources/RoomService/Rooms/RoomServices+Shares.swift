import MixModel
import TaskStore

/// The shares of the app's quotas and of the machine that a room's drafts require.
extension RoomServices {
    /// Takes the share that a requested change requires. A change that reduces the use is always allowed, and so is a
    /// change without growth in a room that is above a quota.
    ///
    /// - Throws: `OrchestratorError` when the app has reached a limit. Nothing is taken then.
    func takeShare(for draft: RoomDraft, after state: RoomState) throws(OrchestratorError) {
        let (app, room) = (state.id.app, state.room)
        let people = draft.room.participants.count
        if people > room.document.participants.count {
            let limit = quotas.quotas.of(app)[.participants]
            if people > limit { throw .overQuota(.participants, limit, app) }
        }
        if !quotas.mayGrow(app), growth(to: draft.room, after: room) > 0 {
            throw .overQuota(.storedBytes, quotas.quotas.of(app)[.storedBytes], app)
        }
        if draft.isFirst(after: room) { try quotas.addRoom(of: app) }
        do throws(OrchestratorError) {
            for (index, new) in draft.tasks.enumerated() where !state.isAtRest(new.machine, at: index) {
                try quotas.take(new.machine)
            }
        } catch {
            giveBackShare(of: draft, after: state)
            throw error
        }
    }

    /// Releases the share taken for a change that was not stored.
    func giveBackShare(of draft: RoomDraft, after state: RoomState) {
        giveBackPlace(of: draft, after: state)
        for (index, new) in draft.tasks.enumerated() {
            if index < state.tasks.count {
                quotas.settle(state.tasks[index].machine.document)
            } else {
                quotas.release(new.machine.id)
            }
        }
    }

    /// Releases the room's own place, if the change that was not stored was its first.
    func giveBackPlace(of draft: RoomDraft, after state: RoomState) {
        if draft.isFirst(after: state.room) { quotas.removeRoom(of: state.id.app) }
    }

    /// Books a decision before it is stored, because two rooms must not get the same cores.
    func bookLoad(of draft: RoomDraft, after state: RoomState) {
        for (index, new) in draft.tasks.enumerated() where !state.isAtRest(new.machine, at: index) {
            bookLoad(of: new.machine, in: draft.room)
        }
    }

    /// Restores the tasks' bookings from before a decision that was not stored.
    func giveBackLoad(of draft: RoomDraft, after state: RoomState) {
        for (index, new) in draft.tasks.enumerated() where !state.isAtRest(new.machine, at: index) {
            if index < state.tasks.count {
                bookLoad(of: state.tasks[index].machine.document, in: state.room.document)
            } else {
                load.forget(new.machine.id)
            }
        }
    }

    private func bookLoad(of machine: TaskMachine, in room: Room) {
        quotas.settle(machine)
        load.settle(machine, priority: machine.seen(room).settings.policy.priority)
    }

    /// Counts the bytes of a room's document when another version is stored.
    ///
    /// - Parameter new: The room as now stored; `nil` = it is deleted.
    func countBytes(of new: Room?, after old: Versioned<Room>) {
        let bytes = new.map { growth(to: $0, after: old) } ?? -(old.version > 0 ? old.document.weight : 0)
        if bytes != 0 { quotas.count(rooms: 0, bytes: bytes, of: old.document.id.app) }
        if new == nil, old.version > 0 { quotas.removeRoom(of: old.document.id.app) }
    }

    /// Returns the approximate growth of the room's document, in bytes.
    private func growth(to new: Room, after old: Versioned<Room>) -> Int {
        new.weight - (old.version > 0 ? old.document.weight : 0)
    }
}

extension RoomDraft {
    /// Returns whether the change stores the room for the first time.
    fileprivate func isFirst(after old: Versioned<Room>) -> Bool { old.version == 0 && makesRoom && !deletesRoom }
}

extension RoomState {
    /// Returns whether the task is idle before and after the change, so that neither its load nor its share changes.
    fileprivate func isAtRest(_ machine: TaskMachine, at index: Int) -> Bool {
        machine.isAtRest && index < tasks.count && tasks[index].machine.document.isAtRest
    }
}
