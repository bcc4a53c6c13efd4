import MixModel

/// Values that the layout of the program shows.
extension RoomOwner {
    /// Signals that the values have changed. Changes that arrive faster than they are processed are merged.
    nonisolated func valuesChanged() {
        if !areValuesQueued.exchange(true, ordering: .acquiringAndReleasing) { inbox.yield(.valuesChanged) }
    }

    /// Makes the mixes on air show the current values. Nothing is stored: the next change that is stored includes the
    /// plan.
    func takeValues() {
        areValuesQueued.store(false, ordering: .releasing)
        guard !state.isShuttingDown, let draft = state.showingValues(services) else { return }
        show(draft)
    }

    /// Reports the values that the layouts on air show, so that no others are collected.
    func noteShownValues() {
        let names = state.shownValues(services)
        guard names != shownValues, !hasLeft else { return }
        shownValues = names
        services.values.show(names, in: id)
    }
}
