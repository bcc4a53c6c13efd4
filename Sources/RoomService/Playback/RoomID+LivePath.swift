import Foundation
import MixModel

extension RoomID {
    /// Path of the room's program at this service, without the file extension.
    package var livePath: String { path(below: "live") }

    /// Path of the room's program at the service's own RTMP server.
    package var programPath: String { path(below: "program") }

    private func path(below first: String) -> String {
        let names = app == .standard ? [name] : [app.rawValue, name]
        return "/"
            + ([first] + names.map { $0.addingPercentEncoding(withAllowedCharacters: .urlHostAllowed) ?? $0 })
            .joined(separator: "/")
    }
}
