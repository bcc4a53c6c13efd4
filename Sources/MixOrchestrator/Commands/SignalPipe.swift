import Foundation
import Synchronization

/// SIGTERM and SIGINT as bytes in a pipe, so that a thread can wait for them with a time limit.
///
/// A signal handler may do next to nothing; writing to a pipe it may. One for each process.
enum SignalPipe {
    /// Where the handlers write; -1 before `open`.
    private static let input = Atomic<Int32>(-1)

    /// Catches the signals from now on.
    ///
    /// - Returns: The end to read from, one byte for each signal, its number. Open for as long as the process runs.
    static func open(_ signals: [Int32]) -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler that waits would hold whatever thread it interrupts.
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
    /// - Parameter limit: `nil` waits for ever.
    /// - Returns: The signal's number, or `nil` when none came in time.
    static func next(from output: Int32, within limit: Duration?) -> Int32? {
        let end = limit.map { ContinuousClock.now + $0 }
        while true {
            let left = end.map { ContinuousClock.now.duration(to: $0) }
            // Rounded up: a time that is not over is at least one millisecond.
            let milliseconds = left.map { Int32(clamping: max(0, Int(($0 / .milliseconds(1)).rounded(.up)))) }
            var descriptor = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptor, 1, milliseconds ?? -1)
            if ready == 0 { return nil }
            var byte: UInt8 = 0
            if ready > 0, read(output, &byte, 1) == 1 { return Int32(byte) }
        }
    }
}
