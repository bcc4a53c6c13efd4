/// One attempt to publish to a destination, from connecting to the end; after it a new one is made.
///
/// Nothing here waits but `open()` and `close()`, and those for a bounded time. From any thread.
protocol OutputConnection: Sendable {
    /// Begins to connect; returns before the connection is there.
    func open() async

    /// Queues one tag.
    func push(_ tag: OutputTag)

    /// Bytes that wait where they cannot be dropped any more: inside the connection, not yet on their way.
    var waiting: Int { get }

    /// Whether bytes are left that the destination has not taken.
    var isWaiting: Bool { get }

    /// Bytes of media that the destination has taken.
    var taken: Int64 { get }

    /// Whether the server has agreed to take the stream; where nobody can tell, whether it has taken anything.
    var hasBegun: Bool { get }

    /// Since when, in ns of CLOCK_MONOTONIC, a server that used to confirm what it reads has stopped to, although its
    /// machine takes the bytes; `nil` = all is well, or nobody can tell.
    var silentSince: Int64? { get }

    /// What went wrong, in the words of the server or the system, or `nil`.
    var fault: OutputFault? { get }

    /// Lets go without waiting; the rest happens in the background.
    func abandon()

    /// Waits until what was pushed has gone out and the server was told the end, at most 2 s, and closes, in at most 2 s.
    func close() async
}
