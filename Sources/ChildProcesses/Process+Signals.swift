import Foundation

extension Process {
    /// Runs the process as `run()` does, with no signal blocked in it.
    ///
    /// Swift's and Dispatch's threads block most signals, and a child inherits the mask of the thread that starts it:
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
