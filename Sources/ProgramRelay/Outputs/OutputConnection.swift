import MediaFormats

/// One attempt to publish to a destination, from connecting to the end. Each further attempt is a new connection.
///
/// Only `open()` and `close()` wait, and only for a bounded time. Safe to use from any thread.
protocol OutputConnection: Sendable {
    /// Begins to connect, and returns before the connection is made.
    ///
    /// - Parameter onChange: Called on the socket loop when the server has agreed to take the stream and when `fault` has
    ///   changed, if `tellsChanges`.
    func open(onChange: @escaping @Sendable () -> Void) async

    /// Whether the connection tells of its changes by itself; otherwise it has to be looked at.
    var tellsChanges: Bool { get }

    /// Queues one tag.
    func push(_ tag: OutputTag)

    /// Bytes inside the connection that are not on their way yet and can no longer be dropped.
    var waiting: Int { get }

    /// Whether the destination has not yet taken all bytes.
    var isWaiting: Bool { get }

    /// Bytes of media that the destination has taken.
    var taken: Int64 { get }

    /// Whether the server has agreed to take the stream. Where that is unknown, whether it has taken any bytes.
    var hasBegun: Bool { get }

    /// Time, in ns of CLOCK_MONOTONIC, since which a server that used to confirm what it reads has not done so,
    /// although its machine takes the bytes; `nil` if all is well or if that is unknown.
    var silentSince: Int64? { get }

    /// The connection's failure in the words of the server or the system, or `nil`.
    var fault: OutputFault? { get }

    /// Returns all of this at once, because asking the system costs as much as sending a tag.
    /// - Parameter now: Current time in ns of CLOCK_MONOTONIC.
    func observe(at now: Int64) -> OutputMachine.Observation

    /// Gives up the connection without waiting. The rest happens in the background.
    func abandon()

    /// Sends what was pushed, tells the server the end, and closes. Takes at most 2 s for the former and 2 s for
    /// closing.
    func close() async
}

extension OutputConnection {
    func observe(at now: Int64) -> OutputMachine.Observation {
        OutputMachine.Observation(
            hasBegun: hasBegun, taken: taken, isWaiting: isWaiting, silentSince: silentSince, fault: fault)
    }
}
