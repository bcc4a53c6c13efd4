import MixModel

extension PageMachine {
    /// Limits of `start`, `answer` and `crash`, and that of a page to be ready, do not count time in which the browser waits for
    /// processors.
    struct Limits: Hashable, Sendable {
        /// Time for browser, display and sound to start.
        var start: Int64 = 20_000_000_000
        /// Time between two questions to a page on air.
        var probe: Int64 = 300_000_000
        /// Time without an answer after which its pictures are not shown, and after which it is ended.
        var patience: Int64 = 1_200_000_000
        var answer: Int64 = 2_000_000_000
        /// Time without an answer after which is looked whether the browser gets processors.
        var suspicion: Int64 = 250_000_000
        /// Time for a page that hangs to be ended.
        var crash: Int64 = 1_000_000_000
        /// Time between two evaluations of the expression that says whether a page is ready.
        var evaluation: Int64 = 200_000_000
        /// Time on air after which failures are forgotten.
        var calm: Int64 = 30_000_000_000
        /// Delays before a page is opened again, and before everything is started again; the last one is repeated.
        var reloads: [Int64] = [0, 1, 2, 5, 10, 30].map { $0 * 1_000_000_000 }
        var restarts: [Int64] = [500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000]
        /// Starts that may fail one after another.
        var mostStarts = 5
        /// Time for which the server that takes the stream may be away, and pauses before it is connected to again.
        var absence: Int64 = 30_000_000_000
        var dials: [Int64] = [100_000_000, 250_000_000, 500_000_000, 1_000_000_000]
    }

    enum Action: Hashable, Sendable {
        /// Starts display, sound, browser and capture: `started` or `broke` follows.
        case start(PageJob)
        /// Lets what was prepared show this page.
        case take(PageJob)
        /// Ends all of that.
        case stop
        case navigate(String)
        /// Evaluates the page's expression: `expressionIs` follows.
        case evaluate(String)
        /// Asks whether the page answers: `answered` follows if it does.
        case probe
        /// Ends the page's process: `crashed` follows.
        case crash
        /// Pictures and sound may leave the worker, or no longer.
        case show, hide
        case report(PageReport)
        /// Connects to the server that takes the stream: `uplinkBegan` or `uplinkEnded` follows.
        case dial
        /// Unpublishes the stream and ends the process.
        case finish
    }
}
