import MixModel

extension PageMachine {
    struct Loading: Hashable, Sendable {
        var until: Int64
        var isLoaded = false
        var isPainted = false
        var isIdle = false
        /// Time from which on the expression may be evaluated again.
        var evaluateAt: Int64
    }

    struct Showing: Hashable, Sendable {
        var since: Int64
        var probeAt: Int64
        /// Time of a question without an answer.
        var askedAt: Int64?
        /// Time since then in which the browser waited for processors.
        var lacked: Int64 = 0
        /// Whether its pictures are not shown until it answers.
        var isHidden = false
    }

    enum Step: Hashable, Sendable {
        case waiting
        /// Everything is being started for a page that is not known yet, or waits for it.
        case preparing(PageJob, until: Int64)
        case prepared(PageJob)
        case starting(until: Int64)
        case loading(Loading)
        case onAir(Showing)
        /// The page hangs and is being ended.
        case crashing(until: Int64)
        /// - Parameter restarts: Whether everything is started, and not only the page opened.
        case pausing(until: Int64, restarts: Bool)
        case over
    }
}
