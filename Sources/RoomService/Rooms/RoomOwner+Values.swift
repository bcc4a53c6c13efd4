import MixModel

/// Facts of the program that its layout shows.
extension RoomOwner {
    /// Takes note that the values have changed. Changes that come faster than they are taken up are one.
    nonisolated func valuesChanged() {
        if !areValuesQueued.exchange(true, ordering: .acquiringAndReleasing) { inbox.yield(.valuesChanged) }
    }

    /// Has the mixes on air show the present values. Nothing is stored: the next change that is stored carries the plan.
    func takeValues() {
        areValuesQueued.store(false, ordering: .releasing)
        guard !state.isShuttingDown, let draft = state.showingValues(services) else { return }
        show(draft)
    }

    /// Says which values the layouts on air show, so that no others are collected.
    func noteShownValues() {
        let names = state.shownValues(services)
        guard names != shownValues else { return }
        shownValues = names
        services.values.show(names, in: id)
    }
}
