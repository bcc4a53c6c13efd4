import MixModel
import RoomService
import SocketIO

/// Settings of Socket.IO.
package struct SocketIOSettings: Sendable {
    package var engine = EngineIOSettings()
    package var packets = SocketIOLimits()
    /// Time for a client to connect to a namespace, in ms.
    package var connectTimeout = 45_000
    /// Web pages of other origins that may connect.
    package var origins = PlaybackOrigins.none
    /// Whether a request without `EIO` is of version 3.
    package var missingVersionIsThree = true
    /// Maximum number of connections.
    package var maxSessions = 10_000
    /// Maximum number of connections of one address, which may be a proxy's.
    package var maxSessionsPerAddress = 10_000
    /// Whether clients without a token are admitted although tokens are configured.
    package var isOpen = false
    /// Paths of the interface. Clients add the slash.
    package var path = "/socket.io"

    package init() {}

    /// The division of the connections among the apps, and those that have not named theirs.
    package func shares(of apps: Set<AppID>) -> AppShares { SocketIOPlaces(all: maxSessions, apps: apps).shares }

    /// The limits of a WebSocket. Engine.IO has its own heartbeats, which both sides check.
    var sockets: WebSocketLimits {
        var limits = WebSocketLimits()
        limits.message = engine.limits.payload
        limits.waiting = 4
        limits.outgoing = engine.limits.bufferedBytes
        limits.pingInterval = 24 * 3_600_000
        return limits
    }
}
