/// The place of a client that publishes or watches over WebRTC, as far as its request shows it.
package struct WebRTCClient: Hashable, Sendable {
    /// IP address, which may be a proxy's.
    package var address: String
    /// Whether the client is on this machine or in a private network with it, so that a private address of the machine
    /// tells it nothing new.
    package var isLocal: Bool

    package init(address: String, isLocal: Bool) {
        self.address = address
        self.isLocal = isLocal
    }
}
