import EncodedMedia
import MixModel

/// Streams of other rooms, images of programs and idle media.
extension RoomOwner {
    /// Loads the needed streams, images and media before a decision depends on them.
    ///
    /// - Parameter settings: Settings that are about to take effect.
    func prepare(for settings: RoomSettings? = nil) async {
        var needs = state.needs(services)
        needs.add(settings, parameterImages: images(of: settings))
        guard !hasLeft, !needs.isEmpty || !state.others.isEmpty else { return }
        // Set first, so that no change between the reading and the first report of a change is missed.
        services.needs.set(needs, of: id)
        holdsNeeds = true
        state.others = state.others.filter { needs.rooms.contains($0.key) }
        for other in needs.rooms.sorted() where state.others[other] == nil { await read(other) }
    }

    /// Images named by parameter values in settings that are about to take effect.
    private func images(of settings: RoomSettings?) -> Set<String> {
        guard let settings else { return [] }
        return services.parameterImages(of: Room(id: id, settings: settings))
    }

    /// Drops what is no longer needed.
    func releaseNeeds() {
        guard holdsNeeds else { return }
        let needs = state.needs(services)
        holdsNeeds = !needs.isEmpty
        services.needs.set(needs, of: id)
        state.others = state.others.filter { needs.rooms.contains($0.key) }
    }

    /// Adds entries about images and media that cannot be shown to the timelines of tasks that have started.
    func noteFailures() async {
        guard holdsNeeds else { return activeTasks = [] }
        let active = state.activeTasks
        let begun = active.subtracting(activeTasks)
        activeTasks = active
        guard !begun.isEmpty else { return }
        for (image, entry) in services.needs.failures(of: id).sorted(by: { $0.key < $1.key }) {
            let cause = services.numbers.nextCause()
            await transact(state.noting(entry, ofImage: image, in: begun, cause: cause, services))
        }
    }

    /// Adds entries about layout images that cannot be shown to the timelines of active tasks: each failure once, and
    /// earlier failures when a task starts or gets another layout.
    func noteLayoutFailures() async {
        // Costs nothing as long as every image can be shown: later failures have higher numbers.
        guard let last = services.layouts.lastImageFailure else {
            if !toldOfLayouts.isEmpty { toldOfLayouts = [:] }
            return
        }
        let before = toldOfLayouts
        toldOfLayouts = layoutsOfActiveTasks.mapValues { (layout: $0, number: last) }
        for (task, told) in toldOfLayouts.sorted(by: { $0.key < $1.key }) {
            let known = before[task].flatMap { $0.layout == told.layout ? $0.number : nil } ?? 0
            guard known < last else { continue }
            for failure in services.layouts.imageFailures(of: told.layout, after: known) {
                let entry = TimelineEntry(kind: .event, message: failure.message, cause: "layout \(told.layout)")
                let cause = services.numbers.nextCause()
                await transact(state.noting(entry, ofLayout: told.layout, in: task, cause: cause, services))
            }
        }
    }

    /// Marks all failures so far as known to the active tasks.
    func skipLayoutFailures() {
        guard let last = services.layouts.lastImageFailure else { return }
        toldOfLayouts = layoutsOfActiveTasks.mapValues { (layout: $0, number: last) }
    }

    private var layoutsOfActiveTasks: [TaskID: String] {
        var layouts: [TaskID: String] = [:]
        for task in state.tasks.lazy.map(\.machine.document) where task.isActive {
            layouts[task.id] = services.layoutName(of: task.seen(state.room.document))
        }
        return layouts
    }

    /// Processes changes of other rooms, of images and of idle media.
    func takeOthers() async {
        guard let cause = otherCause.withLock({ $0.take() }) else { return }
        for other in state.needs(services).rooms.sorted() { await read(other) }
        await replan(cause)
    }

    /// Reads another room's streams from the store. A room that does not exist has none. If the store cannot be read,
    /// the streams stay unchanged.
    private func read(_ other: RoomID) async {
        do {
            let streams = try await services.store.room(other)?.document.shownStreams ?? []
            state.others[other] = streams
        } catch {
            logger.error("room \(other) cannot be read: \(error)")
        }
    }
}
