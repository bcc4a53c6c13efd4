import Foundation
import Synchronization

/// Delivers SIGTERM and SIGINT as bytes in a pipe, so that a thread can wait for them with a time limit.
///
/// A signal handler may call few functions, and `write` is one of them. There is one pipe for each process.
enum SignalPipe {
    /// Descriptor that the handlers write to. -1 before `open`.
    private static let input = Atomic<Int32>(-1)

    /// Starts catching the signals.
    ///
    /// - Returns: The descriptor to read from, which stays open for the life of the process, or `nil` if no pipe can be
    ///   created. Each signal is one byte, its number.
    static func open(_ signals: [Int32]) -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler that blocks would hold the thread it interrupts.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        input.store(ends[1], ordering: .releasing)
        for number in signals {
            signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                let error = errno
                _ = write(SignalPipe.input.load(ordering: .acquiring), &byte, 1)
                errno = error
            }
        }
        return ends[0]
    }

    /// Waits for the next signal.
    ///
    /// - Parameter limit: Maximum time to wait. `nil` waits without a limit.
    /// - Returns: The signal's number, or `nil` if none arrived in time.
    static func next(from output: Int32, within limit: Duration?) -> Int32? {
        let end = limit.map { ContinuousClock.now + $0 }
        while true {
            let left = end.map { ContinuousClock.now.duration(to: $0) }
            // Rounded up, so that any time left is at least one millisecond.
            let milliseconds = left.map { Int32(clamping: max(0, Int(($0 / .milliseconds(1)).rounded(.up)))) }
            var descriptor = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptor, 1, milliseconds ?? -1)
            if ready == 0 { return nil }
            var byte: UInt8 = 0
            if ready > 0, read(output, &byte, 1) == 1 { return Int32(byte) }
        }
    }
}
