import MixModel
import TaskStore

/// Forgetting of rooms that are no longer needed. They stay stored, so that late events are known to be stale, until
/// their app comes near its quota. Then the oldest rooms make place for new ones.
extension RoomRegistry {
    /// Most rooms that are read in one pass.
    static let mostLookedAt = 20_000
    private static let pageSize = 100

    /// Forgets empty rooms without settings of apps that have nearly as many rooms as they may have. Goes on where the
    /// last pass ended.
    func forgetEmptyRooms() async {
        // In a cluster each node knows only a part of what apps have.
        var surplus = services.homes == nil ? services.quotas.surplusRooms : [:]
        var read = 0
        do {
            while !surplus.isEmpty, read < Self.mostLookedAt {
                let place = state.withLock { $0.forgottenUpTo }
                let page = try await services.store.rooms(of: .dormant, after: place, limit: Self.pageSize)
                state.withLock { $0.forgottenUpTo = page.last?.number ?? 0 }
                // The next pass begins with the first room again.
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
