import EncodedMedia
import Foundation
import Synchronization

/// A thread that waits for many sockets and deadlines, and calls their owners.
///
/// A dispatch source costs eleven system calls and wakes two threads for every packet; this loop costs three and wakes
/// one (docs/adr/0010-rtmp-over-sockets.md). Work on the loop delays every other socket on it: it must take constant
/// time and must not block.
///
/// The loop is also the executor of actors that work on sockets.
///
/// `@unchecked Sendable`: `watches` and `scratch` belong to the thread; everything else does not change or locks itself.
package final class SocketLoop: @unchecked Sendable {
    /// A socket, a deadline, or both, with the calls that they cause. Use on the loop only.
    package final class Watch {
        /// The socket; negative means none.
        package var descriptor: Int32 = -1 {
            didSet { if descriptor != oldValue { loop?.poller.update(self, former: oldValue) } }
        }
        /// Awaited events of `poll()`: `POLLIN`, `POLLOUT`.
        package var events: Int32 = 0 {
            didSet { if events != oldValue { loop?.poller.update(self, former: descriptor) } }
        }
        /// Deadline in ns of CLOCK_MONOTONIC. Postponing it costs nothing.
        package var deadline = Int64.max {
            didSet { if deadline < oldValue { loop?.expect(self) } }
        }
        fileprivate let onReady: () -> Void
        fileprivate let onDeadline: () -> Void
        fileprivate var isOver = false
        /// The loop to which the watch was added.
        fileprivate var loop: SocketLoop?

        /// - Parameters:
        ///   - onReady: Called when the socket is ready for one of `events`, or broken.
        ///   - onDeadline: Called once for every deadline.
        package init(onReady: @escaping () -> Void, onDeadline: @escaping () -> Void) {
            self.onReady = onReady
            self.onDeadline = onDeadline
        }
    }

    /// The loop of all sockets of the process. Its thread begins with the first use and stays.
    package static let shared = SocketLoop()

    private var watches: [Watch] = []
    private var deadlines = DeadlineBound<Watch>()
    private var pace = ReadingPace()
    fileprivate var poller: SocketPoller
    /// Buffer for the socket that is being read, shared by all sockets. Use on the loop only.
    var scratch = [UInt8](repeating: 0, count: 1 << 16)
    /// Connections with bytes that are written after the current call.
    private var unflushed: [TCPConnection] = []
    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        /// Whether the loop checks the inbox before it waits.
        var isAwake = true
    }
    private let inbox = Mutex(Inbox())
    /// A pair of sockets that ends the wait; −1 if the system has none left.
    private let wake: (read: Int32, write: Int32)
    /// The loop's thread as `pthread_self()` names it; 0 before it runs.
    private let thread = Atomic<UInt>(0)
    /// Time from which the process sends nothing, in ns of CLOCK_BOOTTIME; `.max` means never.
    private let silence = Atomic<Int64>(.max)
    /// The time of each holder, the earliest of which is `silence`.
    private let silences = Mutex<[ObjectIdentifier: Int64]>([:])
    /// Interval in ms at which the loop checks for work if there is no `wake`.
    private static let patience: Int32 = 10

    private init() {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        wake = socketpair(AF_UNIX, kind, 0, &ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
        poller = SocketPoller(wake: wake.read)
        let thread = Thread { self.run() }
        thread.name = "sockets"
        thread.start()
    }

    /// Whether the caller runs on the loop.
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs `work` on the loop: at once if the caller is on the loop, otherwise like `perform(_:)`.
    package func run(_ work: @escaping @Sendable () -> Void) {
        if isCurrent { work() } else { perform(work) }
    }

    /// Runs `work` on the loop, in the order of the calls; returns at once. Call from any thread.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        let isAsleep = inbox.withLock { inbox in
            inbox.work.append(work)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        if isAsleep { _ = send(wake.write, [1], 1, Int32(MSG_NOSIGNAL)) }
    }

    /// Adds a watch. Call on the loop only.
    package func add(_ watch: Watch) {
        watches.append(watch)
        watch.loop = self
        poller.update(watch, former: -1)
        expect(watch)
    }

    /// Removes a watch, whose callbacks are no longer called; its socket may be closed at once. Call on the loop only.
    package func remove(_ watch: Watch) {
        watch.isOver = true
        deadlines.forget(watch)
        watch.descriptor = -1
        watch.loop = nil
        watches.removeAll { $0 === watch }
    }

    // MARK: Quanta

    /// Sets the time for which packets of calm programs may collect before they are read, in ms; 0 means that they are read as
    /// they arrive. Call from any thread.
    package func setQuantum(_ milliseconds: Int) {
        run { [self] in pace.quantum = Int64(milliseconds) * 1_000_000 }
    }

    /// Sets whether the packets of a holder may be delayed by a quantum; those of a holder that was never named may be. Call on
    /// the loop only.
    package func setCalm(_ isCalm: Bool, for holder: ObjectIdentifier) { pace.setCalm(isCalm, holder) }

    /// Leaves the sockets alone while packets collect. Work for the loop ends the rest at once.
    ///
    /// - Returns: False if the loop waits for its sockets as usual.
    private func rest() -> Bool {
        let time = pace.rest(at: MonotonicClock.now())
        guard time > 0, wake.read >= 0 else { return false }
        let milliseconds = Int32(clamping: (time + 999_999) / 1_000_000)
        let longest = longestWait()
        var work = pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0)
        _ = poll(&work, 1, longest < 0 ? milliseconds : min(milliseconds, longest))
        return true
    }

    // MARK: Silence

    /// Exit status of a process that ended because it may no longer send.
    package static let silentExit: Int32 = 75

    /// Ends the process at `deadline`, in ns of CLOCK_BOOTTIME, before anything else is read or sent on the loop, even
    /// if the process or the machine was suspended in between. Call from any thread.
    ///
    /// - Parameters:
    ///   - deadline: `nil` removes the holder's limit.
    ///   - holder: For each holder the last call counts, and of all holders the earliest deadline.
    package func fallSilent(at deadline: Int64?, for holder: ObjectIdentifier) {
        silences.withLock { silences in
            silences[holder] = deadline
            silence.store(silences.values.min() ?? .max, ordering: .releasing)
        }
        perform {}
    }

    private func keepSilence() {
        let deadline = silence.load(ordering: .relaxed)
        guard deadline != .max, BootClock.now() >= deadline else { return }
        FileHandle.standardError.write(
            Data("the lease was not renewed in time: this process sends nothing more and ends\n".utf8))
        _exit(Self.silentExit)
    }

    private func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        while true {
            let hasWork = inbox.withLock { inbox in
                inbox.isAwake = !inbox.work.isEmpty
                return inbox.isAwake
            }
            let isRested = !hasWork && pace.isOn && rest()
            let count = poller.wait(hasWork || isRested ? 0 : longestWait())
            if pace.isOn { pace.looked(count, at: MonotonicClock.now()) }
            keepSilence()
            inbox.withLock { $0.isAwake = true }
            for index in 0..<count { handle(poller[index]) }
            if deadlines.time != .max { callDeadlines() }
            flush()
            emptyInbox()
        }
    }

    /// Has a connection write its bytes after the current call. Call on the loop only.
    func flushAfterCall(_ connection: TCPConnection) { unflushed.append(connection) }

    private func flush() {
        // A write that fails may have others send.
        var next = 0
        while next < unflushed.count {
            unflushed[next].flushHeld()
            next += 1
        }
        if next > 0 { unflushed.removeAll(keepingCapacity: true) }
    }

    private func handle(_ tag: UInt64) {
        if SocketPoller.isWake(tag) {
            emptyPipe()
        } else {
            poller.watch(of: tag)?.onReady()
            // Not after the other sockets, which may take long.
            flush()
        }
    }

    fileprivate func expect(_ watch: Watch) { deadlines.expect(watch.deadline, of: watch) }

    /// Checks all deadlines, but only when one may have passed: there may be a thousand sockets, and each packet that
    /// arrives at one of them postpones its deadline.
    private func callDeadlines() {
        let now = MonotonicClock.now()
        guard now >= deadlines.time else { return }
        // Deadlines that the calls set count from here on.
        deadlines = DeadlineBound()
        for watch in watches where watch.deadline <= now && !watch.isOver {
            watch.deadline = .max
            watch.onDeadline()
        }
        for watch in watches { expect(watch) }
    }

    /// Returns the time to wait in ms; −1 means for ever. Rounded up, so that the wait never ends before the deadline.
    private func longestWait() -> Int32 {
        var longest = wake.read < 0 ? Self.patience : -1
        let silence = silence.load(ordering: .relaxed)
        if silence != .max {
            let left = Int32(clamping: max(0, silence - BootClock.now() + 999_999) / 1_000_000)
            longest = longest < 0 ? left : min(longest, left)
        }
        guard deadlines.time != .max else { return longest }
        let now = MonotonicClock.now()
        if deadlines.isDoubtful(at: now, deadline: { $0.deadline }) {
            deadlines = DeadlineBound()
            for watch in watches { expect(watch) }
            guard deadlines.time != .max else { return longest }
        }
        let time = Int32(clamping: max(0, deadlines.time - now + 999_999) / 1_000_000)
        return longest < 0 ? time : min(time, longest)
    }

    private func emptyPipe() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while recv(wake.read, &bytes, bytes.count, 0) > 0 {}
    }

    /// Runs the waiting work, including work that it adds itself, in a bounded number of rounds so that sockets get
    /// their turn.
    private func emptyInbox() {
        for _ in 0..<8 {
            let work = inbox.withLock { inbox in
                defer { inbox.work = [] }
                return inbox.work
            }
            guard !work.isEmpty else { return }
            for piece in work { piece() }
            flush()
        }
    }
}
