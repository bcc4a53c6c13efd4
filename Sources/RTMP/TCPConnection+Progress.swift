extension TCPConnection {
    /// The progress of the bytes that were passed to a connection.
    package struct Progress: Hashable, Sendable {
        /// Number of bytes that have not left this machine.
        package var waiting = 0
        /// Number of bytes in flight, which the server's machine has not acknowledged.
        package var unacknowledged = 0
        /// Number of bytes that the server's machine has acknowledged.
        package var acknowledged: Int64 = 0
    }
}
