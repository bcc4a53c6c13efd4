import MixModel

/// The end of an owner whose room goes on at another node of the cluster.
extension RoomOwner {
    /// Ends at once: another node has the room already. Requests that wait are answered with errors, because nothing of
    /// them can be stored.
    func abandon() async {
        gate.close()
        await end()
    }

    /// Ends when the relays have closed their outputs, or in time before they are killed.
    func leave() async {
        gate.close()
        _ = drainForShutdown()
        let limit = ContinuousClock.now + RoomRegistry.drainLimit
        while !isQuiet, ContinuousClock.now < limit {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { break }
        }
        await end()
    }

    private func end() async {
        for supervisor in performer.abandon() { await supervisor.abandon() }
        for task in state.tasks {
            services.load.forget(task.id)
            services.destinations.hold([], for: task.id)
            if !task.machine.document.isExplicit { services.quotas.release(task.id) }
        }
        if holdsNeeds { services.needs.set(ProgramNeeds.Needs(), of: id) }
        holdsNeeds = false
        // Who listens connects again, and is passed on.
        services.listeners.end(id)
        services.news.changed(id)
        stop()
    }
}
