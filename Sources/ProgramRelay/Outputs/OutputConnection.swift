import MediaFormats

/// A single attempt to publish to a destination, from connecting to the end. Each further attempt is a new connection.
///
/// Only `open()` and `close()` wait, and only for a bounded time. Safe to use from any thread.
protocol OutputConnection: Sendable {
    /// Begins to connect, and returns before the connection is established.
    ///
    /// - Parameter onChange: Called on the socket loop when the server has accepted the stream and when `fault` has
    ///   changed, if `tellsChanges`.
    func open(onChange: @escaping @Sendable () -> Void) async

    /// Whether the connection reports its changes by itself; otherwise it must be polled.
    var tellsChanges: Bool { get }

    /// Queues one tag.
    func push(_ tag: OutputTag)

    /// Number of bytes inside the connection that have not been sent yet and can no longer be dropped.
    var waiting: Int { get }

    /// Whether bytes are waiting that the destination has not taken.
    var isWaiting: Bool { get }

    /// Number of bytes of media that the destination has taken.
    var taken: Int64 { get }

    /// Whether the server has accepted the stream. If that is unknown, whether it has taken any bytes.
    var hasBegun: Bool { get }

    /// Time, in ns of CLOCK_MONOTONIC, since which a server that used to acknowledge data has not done so, although its
    /// machine takes the bytes; `nil` if the server reads, or if that is unknown.
    var silentSince: Int64? { get }

    /// The connection's failure, with the server's or the system's description; `nil` if there is none.
    var fault: OutputFault? { get }

    /// Returns all of these values at once, because querying the system costs as much as sending a tag.
    /// - Parameter now: Current time in ns of CLOCK_MONOTONIC.
    func observe(at now: Int64) -> OutputMachine.Observation

    /// Abandons the connection without waiting. It is closed in the background.
    func abandon()

    /// Sends the pushed tags, tells the server that the stream ends, and closes. Takes at most 2 s for sending and 2 s
    /// for closing.
    func close() async
}

extension OutputConnection {
    func observe(at now: Int64) -> OutputMachine.Observation {
        OutputMachine.Observation(
            hasBegun: hasBegun, taken: taken, isWaiting: isWaiting, silentSince: silentSince, fault: fault)
    }
}
