import MixModel

extension PageMachine {
    struct Loading: Hashable, Sendable {
        var until: Int64
        var isLoaded = false
        var isPainted = false
        var isIdle = false
        /// Earliest time of the next evaluation of the expression.
        var evaluateAt: Int64
    }

    struct Showing: Hashable, Sendable {
        var since: Int64
        var probeAt: Int64
        /// Time of the probe that is not answered yet.
        var askedAt: Int64?
        /// Time since then in which the browser waited for CPUs.
        var lacked: Int64 = 0
        /// Whether its pictures are hidden until it answers.
        var isHidden = false
        /// Earliest time of the next evaluation of the expression for its end.
        var evaluateAt: Int64 = 0
    }

    enum Step: Hashable, Sendable {
        case waiting
        /// Everything is being started for a page that is not known yet, or has started and waits for the page.
        case preparing(PageJob, until: Int64)
        case prepared(PageJob)
        case starting(until: Int64)
        case loading(Loading)
        case onAir(Showing)
        /// The page's process is being ended, since the page hangs or has painted nothing.
        ///
        /// - Parameter isLoading: Whether it was still loading, rather than on air.
        case crashing(until: Int64, reason: String, isLoading: Bool)
        /// - Parameter restarts: Whether everything is restarted, rather than only the page reopened.
        case pausing(until: Int64, restarts: Bool)
        case over
    }
}
