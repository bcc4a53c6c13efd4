import Foundation

extension Process {
    /// `run()`, with no signal blocked in the child.
    ///
    /// Swift's and Dispatch's threads block most signals, and a child inherits that from the thread that starts it:
    /// SIGTERM would never reach it.
    public func runWithSignalsUnblocked() throws {
        var none = sigset_t()
        var own = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &own)
        defer { pthread_sigmask(SIG_SETMASK, &own, nil) }
        try run()
    }
}
