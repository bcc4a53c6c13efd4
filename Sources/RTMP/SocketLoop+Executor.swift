/// Jobs of actors run in the order in which they are enqueued, among the other work on the loop.
///
/// Code that the loop calls directly, such as a watch, is isolated to these actors, too: `assumeIsolated` works there
/// and costs no task.
extension SocketLoop: SerialExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() { precondition(isCurrent, "not on the socket loop") }
}
