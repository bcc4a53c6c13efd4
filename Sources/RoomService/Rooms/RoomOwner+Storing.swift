import EncodedMedia
import MixModel
import TaskStore

/// Storing drafts, and performing stored drafts.
extension RoomOwner {
    /// Stores a change that was requested from outside. A change that cannot be stored is not performed.
    func store(_ draft: RoomDraft) async -> Result<CommitResult, OrchestratorError> {
        guard !hasLeft else { return .failure(.moving(id.rawValue)) }
        // One copy of the state for all readers: every access to the property itself would make another copy.
        let before = state
        var draft = draft
        draft.complete(after: before.room, at: wallClock())
        do {
            try services.takeShare(for: draft, after: before)
        } catch {
            return .failure(error)
        }
        let commit = prepare(draft, after: before)
        do {
            guard try await write(commit.change) == .committed else {
                giveBack(draft, before)
                return .success(.duplicate)
            }
        } catch {
            giveBack(draft, before)
            committer.failed(commit, error)
            // The room is another node's: it is not the store that fails, and the request may be repeated at once.
            if case .fenced = error, services.homes != nil { return .failure(.moving(id.rawValue)) }
            return .failure(OrchestratorError(error))
        }
        finish(commit)
        return .success(.committed)
    }

    /// Stores and performs a change that cannot be refused (deadlines, relays). It is performed even when it cannot be
    /// stored, so that a full disk does not take a program off the air. The next change that is stored includes it.
    func transact(_ draft: RoomDraft) async {
        guard !hasLeft else { return }
        var draft = draft
        draft.complete(after: state.room, at: wallClock())
        let commit = prepare(draft, after: state)
        do {
            _ = try await write(commit.change)
            finish(commit)
        } catch {
            committer.failed(commit, error)
            committer.keep(commit, in: &state)
            performer.perform(commit, in: state)
        }
    }

    /// Performs a draft that is not worth a write. The next change that is stored includes it.
    func show(_ draft: RoomDraft) {
        guard !hasLeft else { return }
        let commit = RoomCommit(
            draft: draft,
            change: committer.change(
                of: draft, after: state, wallTime: wallClock(), nextNumber: services.numbers.next))
        services.bookLoad(of: draft, after: state)
        committer.keep(commit, in: &state)
        performer.perform(commit, in: state)
    }

    /// Removes explicit tasks that ended permanently, when they have been kept long enough or there are too many.
    func forgetFinishedTasks() async {
        guard !hasLeft, let (draft, tasks) = state.forgetting(at: wallClock()) else { return }
        await transact(draft)
        for task in state.tasks where tasks.contains(task.id) && !task.isUnstored { performer.forget(task.id) }
        state.tasks.removeAll { tasks.contains($0.id) && !$0.isUnstored }
    }

    // MARK: Parts

    /// Books the draft's load, and determines what is stored with it.
    private func prepare(_ draft: RoomDraft, after before: RoomState) -> RoomCommit {
        services.bookLoad(of: draft, after: before)
        performer.log(draft)
        var change = committer.change(
            of: draft, after: before, wallTime: wallClock(), nextNumber: services.numbers.next)
        let occurrences = takeOccurrences(of: draft)
        change.outbox += services.subscriptions.messages(for: occurrences)
        return RoomCommit(draft: draft, change: change, occurrences: occurrences)
    }

    private func takeOccurrences(of draft: RoomDraft) -> [Occurrence] {
        if isHeard { return state.takeOccurrences(of: draft, wallTime: wallClock(), now: MonotonicClock.now()) }
        state.dropOutputChanges()
        return []
    }

    /// Whether the room has an audience: subscribers, or listeners of its feed.
    var isHeard: Bool { services.subscriptions.tells(of: app) || services.listeners.hasListeners(id) }

    private func write(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        guard !change.isEmpty else { return .committed }
        var change = change
        change.decidedBy = id
        tasksBeingStored = change.tasks.map(\.id)
        defer { tasksBeingStored = [] }
        let start = MonotonicClock.now()
        do {
            let result = try await services.store.commit(change)
            meter.stored(since: start, succeeded: true)
            return result
        } catch {
            meter.stored(since: start, succeeded: false)
            logger.error("not stored: \(error)")
            throw error
        }
    }

    /// Undoes what was taken for a draft that is not stored.
    private func giveBack(_ draft: RoomDraft, _ before: RoomState) {
        state.putBackOccurrences(of: before)
        guard !hasLeft else { return services.giveBackPlace(of: draft, after: state) }
        services.giveBackLoad(of: draft, after: state)
        services.giveBackShare(of: draft, after: state)
    }

    private func finish(_ commit: RoomCommit) {
        let before = state.room
        committer.stored(commit, in: &state)
        services.subscriptions.stored(commit.change.outbox)
        switch commit.change.room {
        case .put: services.countBytes(of: state.room.document, after: before)
        case .delete: services.countBytes(of: nil, after: before)
        case nil: break
        }
        performer.tellOthers(of: state.room.document, before: before.document)
        performer.releaseDeleted(commit)
        performer.perform(commit, in: state)
    }
}
