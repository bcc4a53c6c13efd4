import EventSubscription

/// Configured rules of Web Call Server's interface.
package struct WCSSettings: Sendable {
    /// The rules by which a stream's name belongs to a room and a user.
    package var names: NamePatterns
    /// Maximum numbers of connections.
    package var numbers = WebSocketServer.Numbers()
    /// Limits of a connection.
    var sockets = WebSocketLimits()

    package static let patterns = WCSStreamName.patterns

    package init(names: NamePatterns) {
        self.names = names
    }
}
