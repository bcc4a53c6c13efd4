import MixModel
import TaskStore

/// Recovery from a store failure that leaves open whether a change was stored: a write may be durable although the
/// store answered with an error. To continue with the state in memory could then lose the change, or every further
/// write could be refused.
extension RoomOwner {
    /// Reads the stored state before the next decision. While the store cannot be read, the doubt remains. Decisions
    /// that follow from the reading are stored, which may cause another doubt.
    func settleDoubt() async {
        for _ in 0..<3 where committer.doubt != nil { await readAgain() }
    }

    private func readAgain() async {
        guard let doubtful = committer.doubt else { return }
        do {
            let storedRoom = try await services.store.room(id)
            var stored: [Versioned<TaskMachine>] = []
            for task in doubtful.union(state.tasks.map(\.id)).sorted() {
                guard let found = try await services.store.task(task), found.document.room == id else { continue }
                stored.append(found)
            }
            committer.settled()
            await adopt(storedRoom, stored)
        } catch {
            logger.error("the room cannot be read: \(error)")
        }
    }

    private func adopt(_ storedRoom: Versioned<Room>?, _ stored: [Versioned<TaskMachine>]) async {
        let before = state.room
        let reading = state.reread(storedRoom, stored)
        if reading.isRoomOther {
            if storedRoom != nil, before.version == 0 { services.quotas.count(rooms: 1, bytes: 0, of: app) }
            services.countBytes(of: storedRoom?.document, after: before)
            performer.tellOthers(of: state.room.document, before: before.document)
        }
        guard reading.needsDecision else { return }
        for task in reading.found { _ = services.taskIndex.claim(task, for: id) }
        await transact(state.deciding(after: reading, cause("room reread from the store"), services))
    }
}
