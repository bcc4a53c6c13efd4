import EncodedMedia
import MixModel

/// Streams of other rooms, and images of programs.
extension RoomOwner {
    /// Needs of the programs of the room and its tasks.
    private var neededNow: ProgramNeeds.Needs {
        var needs = ProgramNeeds.Needs()
        if room.version > 0 { needs.add(room.document.settings.program) }
        for task in tasks where !task.machine.document.isFinished { needs.add(task.machine.document.settings?.program) }
        return needs
    }

    /// Loads what is needed, before a decision depends on it.
    ///
    /// - Parameter program: Program of settings that are about to take effect.
    func prepare(for program: ProgramSettings? = nil) async {
        var needs = neededNow
        needs.add(program)
        guard !needs.isEmpty || !others.isEmpty else { return }
        // Set first, so that no change is missed between the reading and the first report of a change.
        services.needs.set(needs, of: id)
        holdsNeeds = true
        others = others.filter { needs.rooms.contains($0.key) }
        for other in needs.rooms.sorted() where others[other] == nil { await read(other) }
    }

    /// Drops what is no longer needed.
    func releaseNeeds() {
        guard holdsNeeds else { return }
        let needs = neededNow
        holdsNeeds = !needs.isEmpty
        services.needs.set(needs, of: id)
        others = others.filter { needs.rooms.contains($0.key) }
    }

    /// Takes up a change of another room or of an image.
    func takeOthers() async {
        guard var cause = otherCause.withLock({ $0.take() }) else { return }
        for other in neededNow.rooms.sorted() { await read(other) }
        cause.id = cause.id ?? services.numbers.nextCause()
        await replan(cause, now: cause.receivedAt)
    }

    /// Reads another room's streams from the store. A room that is not there has none. If the store cannot be read, the
    /// streams stay as they were.
    private func read(_ other: RoomID) async {
        do {
            others[other] = try await services.store.room(other)?.document.streams ?? []
        } catch {
            logger.error("room \(other) cannot be read: \(error)")
        }
    }

    /// Takes note of a change of a needed room or image. Changes that come faster than they are taken up wait as one.
    nonisolated func needsChanged(_ cause: Cause) {
        let isFirst = otherCause.withLock { waiting in
            defer { waiting = waiting ?? cause }
            return waiting == nil
        }
        if isFirst { inbox.yield(.needsChanged) }
    }

    /// Adds an entry to the timelines of the tasks that show this image.
    nonisolated func note(_ entry: TimelineEntry, ofImage image: String) { inbox.yield(.imageNote(image, entry)) }

    func tell(_ entry: TimelineEntry, ofImage image: String) async {
        var draft = draft(cause: services.numbers.nextCause())
        draft.changeTasks { task, room in
            let images = task.seen(room).settings.program?.images ?? []
            return task.isActive && images.contains(image) ? [.record(entry)] : []
        }
        await transact(draft)
    }

    /// Notifies the rooms that take streams of this one. Call when the change is stored.
    func tellOthers(before: [Participant]) {
        guard services.needs.isWatched(id), before != room.document.participants else { return }
        services.needs.changed(
            id, cause: Cause(receivedAt: MonotonicClock.now(), summary: "streams of room \(id.name) changed"))
    }
}
