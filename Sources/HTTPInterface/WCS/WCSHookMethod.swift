/// A call to the app's server, by Web Call Server's name.
enum WCSHookMethod: String, CaseIterable, Sendable {
    /// Asks whether a client may connect.
    case connect
    /// Asks whether a client may publish.
    case publishStream
    /// Asks whether a client may play.
    case playStream
    /// Reports a stream's status, as sent to the client.
    case streamStatus = "StreamStatusEvent"
    /// Reports that the client is admitted, or has gone.
    case connectionStatus = "ConnectionStatusEvent"
}
