import EventSubscription
import Hummingbird
import MixModel
import NIOCore

/// Who makes a request, and for which app.
struct Caller: Hashable, Sendable {
    var app: AppID
    var scopes: Set<Scope>
    /// Number of the token; `nil` where there are none, and on open routes.
    var token: Int?

    /// Somebody who showed no token.
    static func anonymous(_ app: AppID = .standard, scopes: Set<Scope> = []) -> Caller {
        Caller(app: app, scopes: scopes, token: nil)
    }
}

/// A request's context: Hummingbird's, and who makes it.
struct OrchestratorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Set by `AccessMiddleware`.
    var caller = Caller.anonymous()
    /// The request's connection.
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The address of the other side of the connection; of a proxy, where one stands in between.
    var peer: String { channel.remoteAddress?.ipAddress ?? "unknown" }

    /// Whose rooms and tasks are meant.
    var app: AppID { caller.app }

    /// The caller's room of that name, which may not exist.
    func roomID(_ parameter: String = "room") throws -> RoomID {
        RoomID(app: caller.app, name: try identifier(parameter))
    }

    /// The caller's room of that name, which is made when it does not exist.
    func newRoomID() throws -> RoomID { RoomID(app: caller.app, name: try newIdentifier("room")) }

    /// The caller's task of that name, which may not exist.
    func taskID(_ parameter: String = "task") throws -> TaskID {
        // A room with the longest name has a task, too.
        let longest = EventParser.longestIdentifier + TaskID.automaticPrefix.utf8.count
        return TaskID(app: caller.app, name: try identifier(parameter, longest: longest))
    }
}
