import EventSubscription

/// Settings of Web Call Server's interface.
package struct WCSSettings: Sendable {
    /// The rules that map a stream's name to a room and a user.
    package var names: NamePatterns
    /// Maximum numbers of connections.
    package var numbers = WebSocketServer.Numbers()
    /// Calls to the app's server, if configured.
    package var hooks: WCSHooks.Settings?
    /// Problems that do not prevent the service from starting but should be fixed.
    package var warnings: [String] = []
    /// Limits of a connection.
    var sockets = WebSocketLimits()

    package static let patterns = WCSStreamName.patterns

    package init(names: NamePatterns) {
        self.names = names
    }
}
