import EventSubscription
import MixModel
import RoomService

/// Rooms and tasks of one app, a page at a time, whether they are in memory or not.
extension RoomRegistry {
    struct Page<View: Sendable>: Sendable {
        var views: [View] = []
        /// Cursor of the next page; `nil` at the end.
        var next: String?
    }

    /// Largest number of rooms or tasks that are examined for one answer. If few of them match, the page is not full,
    /// and `next` continues.
    static let mostRead = 2000
    /// Number of rooms that are read at once.
    private static let readAtOnce = 100

    /// Returns an app's rooms, ordered by name.
    func rooms(
        of app: AppID, page: RequestPage, where isWanted: @Sendable (RoomView) -> Bool
    ) async throws(OrchestratorError) -> Page<RoomView> {
        var answer = Page<RoomView>()
        var place = app.place(after: page.after)
        // A name in the app itself: the cursor must not reveal other apps' rooms.
        var last = page.after
        var read = 0
        while true {
            let snapshots = try await snapshots(after: place, limit: Self.readAtOnce)
            for room in snapshots {
                if room.id.app != app {
                    guard let next = app.place(behindOther: room.id) else { return answer }
                    place = next
                    break
                }
                if answer.views.count == page.limit || read == Self.mostRead {
                    answer.next = last
                    return answer
                }
                (place, last) = (room.id, room.id.name)
                read += 1
                if let view = room.roomView(services)?.view, isWanted(view) { answer.views.append(view) }
            }
            if snapshots.isEmpty { return answer }
        }
    }

    /// Returns an app's tasks, ordered by room. In each room the automatic task comes first.
    func tasks(
        of app: AppID, room: RoomID?, page: RequestPage, where isWanted: @Sendable (TaskView) -> Bool
    ) async throws(OrchestratorError) -> Page<TaskView> {
        var answer = Page<TaskView>()
        let cursor = page.after.map { after in
            after.splitAtFirst("/").map { [String($0.head), String($0.tail)] } ?? [after]
        }
        // The cursor's room is read again, because some of its tasks may be left.
        var rooms = [room ?? cursor?.first.map { RoomID(app: app, name: $0) }].compactMap(\.self)
        var place = app.place(after: cursor?.first)
        var last = page.after
        var read = 0
        while true {
            for id in rooms {
                if id.app != app {
                    guard let next = app.place(behindOther: id) else { return answer }
                    place = next
                    break
                }
                // A list shows what is stored of other nodes' rooms; a single room is asked for at its node.
                let state = try await room == nil ? shownState(of: id) : snapshot(id)
                var views = state?.taskViews(services) ?? []
                if let cursor, cursor.count == 2, cursor[0].hasSameUTF8(as: id.name) {
                    // If the cursor's task is gone, the room is listed from its beginning, so that no task is skipped.
                    let last = views.firstIndex { $0.id.hasSameUTF8(as: cursor[1]) }
                    views = last.map { Array(views[($0 + 1)...]) } ?? views
                }
                for view in views {
                    if answer.views.count == page.limit || read == Self.mostRead {
                        answer.next = last
                        return answer
                    }
                    last = "\(view.room)/\(view.id)"
                    read += 1
                    if isWanted(view) { answer.views.append(view) }
                }
                place = max(id, place ?? id)
            }
            guard room == nil else { return answer }
            do {
                rooms = try await services.store.roomsWithTasks(after: place, limit: Self.readAtOnce)
            } catch {
                throw OrchestratorError(error)
            }
            if rooms.isEmpty { return answer }
        }
    }
}

extension AppID {
    /// A name that sorts after every name of an app: longer than any name, made of the last scalar.
    private static let lastName = String(repeating: "\u{10FFFF}", count: EventParser.longestIdentifier / 4 + 1)

    /// Returns the position where the app's rooms begin, or continue after the room of this name.
    fileprivate func place(after name: String?) -> RoomID? {
        name.map { RoomID(app: self, name: $0) } ?? (self == .standard ? nil : RoomID("\(self)/"))
    }

    /// Returns the position where the search continues after the rooms of another app; `nil` when no room of this app
    /// follows. Only the standard app's rooms lie between those of others.
    fileprivate func place(behindOther room: RoomID) -> RoomID? {
        self == .standard ? RoomID(app: room.app, name: Self.lastName) : nil
    }
}
