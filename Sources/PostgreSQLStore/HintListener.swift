import Foundation
import Synchronization
import TaskStore

/// Receives the other nodes' NOTIFY hints, on a thread with its own connection. Thread-safe.
///
/// The thread starts with the first listener, so that programs that follow no hints need no further connection. When
/// the connection is lost, the thread opens another one; `StoreHint.anything` stands for hints missed in the meantime.
final class HintListener: Sendable {
    /// The cluster's channel: channels of a database are shared by all of its schemas.
    let channel: String
    /// Marks the hints of this process, which ignores its own.
    let origin = String(UInt64.random(in: 0 ... .max), radix: 36)

    /// Maximum number of hints that wait for one listener. Beyond it, the oldest are dropped.
    static let mostWaiting = 64
    /// Time after which a silent connection is tested.
    private static let heartbeat: Duration = .seconds(10)

    private struct State {
        var listeners: [Int: AsyncStream<StoreHint>.Continuation] = [:]
        var number = 0
        var isRunning = false
        var isClosed = false
    }
    private let state = Mutex(State())
    private let target: PostgreSQLTarget
    private let cluster: String
    private let alarm = Alarm()
    private let ended = Ending()

    init(_ target: PostgreSQLTarget, cluster: String) {
        self.target = target
        self.cluster = cluster
        let plain = cluster.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        channel = "mixorchestrator_" + plain.lowercased().prefix(40)
    }

    /// Returns a stream of the hints received from now on, until `close`. Whenever a connection starts to listen, it
    /// yields `StoreHint.anything`.
    func hints() -> AsyncStream<StoreHint> {
        let (stream, listener) = AsyncStream.makeStream(
            of: StoreHint.self, bufferingPolicy: .bufferingNewest(Self.mostWaiting))
        let (number, starts, isClosed) = state.withLock { state in
            guard !state.isClosed else { return (0, false, true) }
            state.number += 1
            state.listeners[state.number] = listener
            defer { state.isRunning = true }
            return (state.number, !state.isRunning, false)
        }
        guard !isClosed else {
            listener.finish()
            return stream
        }
        listener.onTermination = { [weak self] _ in self?.forget(number) }
        if starts { start() }
        return stream
    }

    /// Number of listeners.
    var listeners: Int { state.withLock { $0.listeners.count } }

    private func forget(_ number: Int) { state.withLock { $0.listeners[number] = nil } }

    /// Passes a notification to the listeners. Notifications from this process, from a release with other words, or
    /// from other programs are ignored.
    func hear(_ payload: String) {
        let words = payload.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] != origin, let hint = StoreHint(rawValue: String(words[1])) else { return }
        tell(hint)
    }

    private func tell(_ hint: StoreHint) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(hint) }
    }

    // MARK: The thread

    private func start() {
        let thread = Thread { [self] in
            ended.after {
                let keeper = ConnectionKeeper(target, cluster: cluster)
                var heard: PGConnection?
                while !state.withLock({ $0.isClosed }) { heard = listen(keeper, heard) }
            }
        }
        thread.name = "store.listener"
        thread.start()
    }

    /// Waits for notifications once.
    ///
    /// - Parameter known: The connection that is already listening.
    /// - Returns: The connection that is listening; `nil` if it was lost.
    private func listen(_ keeper: ConnectionKeeper, _ known: PGConnection?) -> PGConnection? {
        do throws(PGFailure) {
            let connection = try keeper.connected()
            if connection !== known {
                try connection.run("LISTEN \(channel)")
                tell(.anything)
            }
            let notes = try connection.notifications(within: Self.heartbeat, orUntil: alarm.descriptor)
            for note in notes where note.channel == channel { hear(note.payload) }
            if notes.isEmpty, !state.withLock({ $0.isClosed }) { try connection.run("SELECT 1") }
            return connection
        } catch {
            if error.kind != .unreachable { keeper.drop() }
            alarm.wait(for: ConnectionKeeper.shortestPause)
            return nil
        }
    }

    /// Ends all streams and the thread.
    func close() async {
        let (listeners, isRunning) = state.withLock { state in
            state.isClosed = true
            defer { state.listeners = [:] }
            return (Array(state.listeners.values), state.isRunning)
        }
        alarm.ring()
        for listener in listeners { listener.finish() }
        if isRunning { await ended.wait() }
    }
}

/// Wakes a thread that waits for a descriptor, once and permanently.
private final class Alarm: Sendable {
    /// A descriptor that is readable after `ring`.
    let descriptor: Int32
    private let ringer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        // Close-on-exec, because workers may be started at any time.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        if socketpair(AF_UNIX, kind, 0, &ends) != 0 { ends = [-1, -1] }
        (descriptor, ringer) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(ringer)
    }

    func ring() {
        var byte: UInt8 = 1
        _ = write(ringer, &byte, 1)
    }

    /// Waits until the alarm rings, or `limit` has passed.
    func wait(for limit: Duration) {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = Foundation.poll(&poll, 1, Int32(limit / .milliseconds(1)))
    }
}

extension PostgreSQLTaskStore {
    public func hints() -> AsyncStream<StoreHint> { listener.hints() }

    /// Sends a hint to the other nodes. It is not part of the change that was stored before, which must not fail
    /// because of it: nodes that miss the hint find the change later.
    func tell(_ hint: StoreHint) async {
        let (channel, origin) = (listener.channel, listener.origin)
        do {
            _ = try await read { connection in
                try connection.execute(
                    "SELECT pg_notify($1, $2)", [.text(channel), .text("\(origin) \(hint.rawValue)")])
            }
        } catch {
            // The other nodes find the change by their periodic checks.
        }
    }
}
