import MixModel

extension PageMachine {
    /// Time limits. `start`, `answer`, `crash` and the time for a page to become ready do not include time in which the
    /// browser waits for CPUs.
    struct Limits: Hashable, Sendable {
        /// Time in ns for browser, display and sound server to start.
        var start: Int64 = 20_000_000_000
        /// Interval in ns between two probes of a page on air.
        var probe: Int64 = 300_000_000
        /// Time in ns without an answer after which the page's pictures are hidden, and after which its process is
        /// ended.
        var patience: Int64 = 1_200_000_000
        var answer: Int64 = 2_000_000_000
        /// Time in ns without an answer after which the browser's CPU use is checked.
        var suspicion: Int64 = 250_000_000
        /// Time in ns for a hung page to be ended.
        var crash: Int64 = 1_000_000_000
        /// Interval in ns between two evaluations of the expression that says whether a page is ready, or over.
        var evaluation: Int64 = 200_000_000
        /// Time on air in ns after which failures are forgotten.
        var calm: Int64 = 30_000_000_000
        /// Delays in ns before a page is reopened, and before everything is restarted; the last delay is repeated.
        var reloads: [Int64] = [0, 1, 2, 5, 10, 30].map { $0 * 1_000_000_000 }
        var restarts: [Int64] = [500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000]
        /// Largest number of consecutive failed starts.
        var mostStarts = 5
        /// Time in ns for which the ingest server may be unreachable, and pauses before the next connection attempts.
        var absence: Int64 = 30_000_000_000
        var dials: [Int64] = [100_000_000, 250_000_000, 500_000_000, 1_000_000_000]
    }

    enum Action: Hashable, Sendable {
        /// Starts display, sound server, browser and capture: `started` or `broke` follows.
        case start(PageJob)
        /// Shows this page in the prepared browser.
        case take(PageJob)
        /// Ends everything that `start` has started.
        case stop
        case navigate(String)
        /// Evaluates the page's expression: `expressionIs` follows.
        case evaluate(String)
        /// Evaluates the expression for the page's end: `endIs` follows.
        case evaluateEnd(String)
        /// Checks whether the page answers: `answered` follows if it does.
        case probe
        /// Ends the page's process: `crashed` follows, or `crashRefused`.
        case crash
        /// Lets pictures and audio leave the worker, or stops that.
        case show, hide
        case report(PageReport)
        /// Connects to the ingest server: `uplinkBegan` or `uplinkEnded` follows.
        case dial
        /// Unpublishes the stream and ends the process.
        case finish
    }
}
