import MixModel
import TaskStore

/// Removal of rooms that are no longer needed. They stay stored, so that late events are recognized as stale, until
/// their app approaches its quota. Then the oldest rooms are removed in favour of new ones.
extension RoomRegistry {
    /// Maximum number of rooms read in one pass.
    static let mostLookedAt = 20_000
    private static let pageSize = 100

    /// Forgets tasks that have ended at other nodes of a cluster, of which this one is not told. Looks at one page of
    /// them, and continues where the last pass ended.
    func forgetEndedTasks() async {
        guard let homes = services.homes else { return }
        let last = state.withLock { $0.tasksForgottenUpTo }
        let others = services.taskIndex.entries.filter { !homes.has($0.value) }
        var tasks = others.keys.sorted()
        if let last { tasks.removeAll { $0 <= last } }
        let page = tasks.prefix(Self.pageSize)
        // After the last task, the next pass starts with the first one again.
        state.withLock { $0.tasksForgottenUpTo = page.last }
        do {
            for task in page {
                guard let room = others[task] else { continue }
                let stored = try await services.store.task(task)?.document.room
                if stored != room { services.taskIndex.release(task, of: room, unlessAt: homes) }
            }
        } catch {
            services.logger.debug("ended tasks of other nodes cannot be found: \(error)")
        }
    }

    /// Removes empty rooms without settings, of apps that have almost reached their limit of rooms. Continues where the
    /// last pass ended.
    func forgetEmptyRooms() async {
        // In a cluster each node knows only a part of the apps' usage.
        var surplus = services.homes == nil ? services.quotas.surplusRooms : [:]
        var read = 0
        do {
            while !surplus.isEmpty, read < Self.mostLookedAt {
                let place = state.withLock { $0.forgottenUpTo }
                let page = try await services.store.rooms(of: .dormant, after: place, limit: Self.pageSize)
                state.withLock { $0.forgottenUpTo = page.last?.number ?? 0 }
                // The next pass starts with the first room again.
                guard !page.isEmpty else { return }
                read += page.count
                for room in page.map(\.room) where room.isEmpty {
                    guard let wanted = surplus[room.id.app] else { continue }
                    guard try await existingOwner(room.id)?.forgetIfEmpty() == true else { continue }
                    surplus[room.id.app] = wanted > 1 ? wanted - 1 : nil
                }
            }
        } catch {
            services.logger.warning("empty rooms cannot be unloaded: \(error)")
        }
    }
}
