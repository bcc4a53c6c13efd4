import MixModel

/// Rooms and tasks of one app, a page at a time.
extension RoomRegistry {
    struct Page<View: Sendable>: Sendable {
        var views: [View] = []
        /// Asks for what comes behind; `nil` at the end.
        var next: String?
    }

    /// Ordered by name.
    func rooms(
        of app: AppID, page: RequestPage, where isWanted: @Sendable (RoomView) -> Bool
    ) async -> Page<RoomView> {
        var answer = Page<RoomView>()
        for owner in allOwners() where owner.id.app == app {
            if let after = page.after, owner.id.name <= after { continue }
            guard let view = await owner.roomView()?.view, isWanted(view) else { continue }
            if answer.views.count == page.limit {
                answer.next = answer.views.last?.id
                break
            }
            answer.views.append(view)
        }
        return answer
    }

    /// Ordered by room; of one room the automatic one first.
    func tasks(
        of app: AppID, room: RoomID?, page: RequestPage, where isWanted: @Sendable (TaskView) -> Bool
    ) async -> Page<TaskView> {
        var answer = Page<TaskView>()
        let cursor = page.after.map { $0.split(separator: "/", maxSplits: 1).map(String.init) }
        let owners = room.map { existingOwner($0).map { [$0] } ?? [] } ?? allOwners()
        for owner in owners where owner.id.app == app {
            if let after = cursor?.first, owner.id.name < after { continue }
            var views = await owner.taskViews().map(\.view)
            if let cursor, cursor.count == 2, cursor[0] == owner.id.name {
                // One that is gone was seen with those before it: the room begins anew rather than to leave one out.
                let last = views.firstIndex { $0.id == cursor[1] }
                views = last.map { Array(views[($0 + 1)...]) } ?? views
            }
            for view in views where isWanted(view) {
                if answer.views.count == page.limit {
                    answer.next = answer.views.last.map { "\($0.room)/\($0.id)" }
                    return answer
                }
                answer.views.append(view)
            }
        }
        return answer
    }
}
