import MixModel

/// Finds the rooms of an app in an index of all rooms, page by page and ordered by identifier.
package enum RoomWalk {
    /// A text that sorts after every name: it consists of the last scalar and is longer than any name, which has at
    /// most 128 bytes.
    private static let behindAllNames = String(repeating: "\u{10FFFF}", count: 33)

    /// - Parameters:
    ///   - app: The app; `nil` for the rooms of all apps.
    ///   - limit: Number of rooms that are returned at most.
    ///   - page: Returns the first rooms whose identifiers lie after the first text and, unless it is `nil`, before the
    ///     second, at most as many as the number.
    package static func rooms(
        of app: AppID?, limit: Int, page: (_ after: String, _ before: String?, _ limit: Int) throws -> [RoomID]
    ) rethrows -> [RoomID] {
        var found: [RoomID] = []
        // `0` follows `/`, so the rooms of one app lie between the two. Only the standard app's rooms lie between
        // those of others.
        let isStandard = app == .standard
        let end = isStandard || app == nil ? nil : app.map { "\($0)0" }
        var place = isStandard || app == nil ? "" : app.map { "\($0)/" } ?? ""
        while found.count < limit {
            let rooms = try page(place, end, limit - found.count)
            guard let last = rooms.last else { break }
            place = last.rawValue
            for room in rooms {
                if isStandard, room.app != .standard {
                    place = "\(room.app)/" + behindAllNames
                    break
                }
                found.append(room)
            }
        }
        return found
    }
}
