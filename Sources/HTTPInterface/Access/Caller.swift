import EventSubscription
import Hummingbird
import MixModel
import NIOCore

/// The caller of a request, and the app on whose behalf it is made.
struct Caller: Hashable, Sendable {
    var app: AppID
    var scopes: Set<Scope>
    /// Number of the token. `nil` if no tokens are configured, and on open routes.
    var token: Int?
    /// The only user for whom the caller acts in channels; `nil` if there is no such restriction.
    var user: UserID?

    /// Returns a caller without a token.
    static func anonymous(_ app: AppID = .standard, scopes: Set<Scope> = []) -> Caller {
        Caller(app: app, scopes: scopes, token: nil)
    }
}

/// The context of a request: Hummingbird's, and the caller.
package struct OrchestratorContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Set by `AccessMiddleware`.
    var caller = Caller.anonymous()
    /// The request's connection.
    let channel: any Channel
    /// IP address of the client whose request another node passed on.
    var passedOnFor: String?
    /// Whether only a part of a batch is meant for this node.
    var takesShare = false
    /// Name of the node that makes the request for viewers that it has already admitted.
    var carrier: String?
    /// Whether another node makes the request for viewers that it has already admitted.
    var isCarriedOver: Bool { carrier != nil }

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The IP address of the connection's other end, or of the client of the node that passed the request on. Behind a proxy, this is the proxy's address.
    var peer: String { passedOnFor ?? channel.remoteAddress?.ipAddress ?? "unknown" }

    /// The app whose rooms and tasks the request concerns.
    var app: AppID { caller.app }

    /// Returns the id of the caller's room named in the path. The room may not exist.
    func roomID(_ parameter: String = "room") throws -> RoomID {
        RoomID(app: caller.app, name: try identifier(parameter))
    }

    /// Returns the id of the caller's room named in the path, for a request that creates the room if it does not exist.
    func newRoomID() throws -> RoomID { RoomID(app: caller.app, name: try newIdentifier("room")) }

    /// Returns the id of the caller's task named in the path. The task may not exist.
    func taskID(_ parameter: String = "task") throws -> TaskID {
        // Leave space for the automatic task of a room whose name has the maximum length.
        let longest = EventParser.longestIdentifier + TaskID.automaticPrefix.utf8.count
        return TaskID(app: caller.app, name: try identifier(parameter, longest: longest))
    }
}
