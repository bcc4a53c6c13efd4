import MixModel

/// Streams of other rooms, and images of programs.
extension RoomOwner {
    /// What the programs of the room and its tasks need.
    private var neededNow: ProgramNeeds.Needs {
        var needs = ProgramNeeds.Needs()
        if room.version > 0 { needs.add(room.document.settings.program) }
        for task in tasks where !task.machine.document.isFinished { needs.add(task.machine.document.settings?.program) }
        return needs
    }

    /// Has what is needed at hand before something is decided with it.
    ///
    /// - Parameter program: Of settings that are about to be taken up.
    func prepare(for program: ProgramSettings? = nil) async {
        var needs = neededNow
        needs.add(program)
        guard !needs.isEmpty || !others.isEmpty else { return }
        // First: what changes from now on is told, so nothing is missed between the reading and the telling.
        services.needs.set(needs, of: id)
        holdsNeeds = true
        others = others.filter { needs.rooms.contains($0.key) }
        for other in needs.rooms.sorted() where others[other] == nil { await read(other) }
    }

    /// Lets go of what is not needed any more.
    func releaseNeeds() {
        guard holdsNeeds else { return }
        let needs = neededNow
        holdsNeeds = !needs.isEmpty
        services.needs.set(needs, of: id)
        others = others.filter { needs.rooms.contains($0.key) }
    }

    /// Somebody else's room or an image changed.
    func takeOthers() async {
        guard var cause = otherCause.withLock({ $0.take() }) else { return }
        for other in neededNow.rooms.sorted() { await read(other) }
        cause.id = cause.id ?? services.numbers.nextCause()
        await replan(cause, now: cause.receivedAt)
    }

    /// What is stored is what counts; a room that is not there has no streams. While it cannot be read it stays as it was.
    private func read(_ other: RoomID) async {
        do {
            others[other] = try await services.store.room(other)?.document.streams ?? []
        } catch {
            logger.error("room \(other) cannot be read: \(error)")
        }
    }

    /// The registry says that something that is needed changed; one that changes faster than it is taken up waits once.
    nonisolated func needsChanged(_ cause: Cause) {
        let isFirst = otherCause.withLock { waiting in
            defer { waiting = waiting ?? cause }
            return waiting == nil
        }
        if isFirst { inbox.yield(.needsChanged) }
    }

    /// Something to be told in the timelines of the tasks that show this image.
    nonisolated func note(_ entry: TimelineEntry, ofImage image: String) { inbox.yield(.imageNote(image, entry)) }

    func tell(_ entry: TimelineEntry, ofImage image: String) async {
        var draft = draft(cause: services.numbers.nextCause())
        draft.changeTasks { task, room in
            let images = task.seen(room).settings.program?.images ?? []
            return task.isActive && images.contains(image) ? [.record(entry)] : []
        }
        await transact(draft)
    }

    /// Tells those who take streams of this room, once it is stored.
    func tellOthers(before: [Participant]) {
        guard services.needs.isWatched(id), before != room.document.participants else { return }
        services.needs.changed(
            id, cause: Cause(receivedAt: MonotonicClock.now(), summary: "streams of room \(id.name) changed"))
    }
}
