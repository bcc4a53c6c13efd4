import EventSubscription
import Hummingbird
import MixModel

extension RequestContext {
    /// Whose rooms and tasks the caller means.
    var app: AppID { .standard }

    /// A part of the path that names a room of the caller's.
    func roomID(_ name: String = "room") throws -> RoomID { RoomID(app: app, name: try identifier(name)) }

    /// A part of the path that names a task of the caller's.
    func taskID(_ name: String = "task") throws -> TaskID { TaskID(app: app, name: try identifier(name)) }
}
