/// A call to the app's server, as Web Call Server names it.
enum WCSHookMethod: String, CaseIterable, Sendable {
    /// Asks whether a client is let in.
    case connect
    /// Asks whether a client may publish.
    case publishStream
    /// Asks whether a client may play.
    case playStream
    /// A stream's status, as the client is told.
    case streamStatus = "StreamStatusEvent"
    /// The client is let in, or has gone.
    case connectionStatus = "ConnectionStatusEvent"
}
