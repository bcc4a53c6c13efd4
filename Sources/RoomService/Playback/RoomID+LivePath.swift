import Foundation
import MixModel

extension RoomID {
    /// Path of the room's program at this service, without the ending that names a format.
    package var livePath: String {
        let names = app == .standard ? [name] : [app.rawValue, name]
        return (["/live"] + names.map { $0.addingPercentEncoding(withAllowedCharacters: .urlHostAllowed) ?? $0 })
            .joined(separator: "/")
    }
}
