import EncodedMedia
import MixModel
import RTMP

/// The life of a page worker: one page from its first start to its end. Pure; times in ns of a monotonic clock.
///
/// Pictures of the screen leave the worker in the state on air only: while a page is loaded, has crashed or hangs, the
/// screen shows what is not the page's.
struct PageMachine: Sendable {
    struct Limits: Hashable, Sendable {
        /// Time for browser, display and sound to start.
        var start: Int64 = 20_000_000_000
        /// Time between two questions to a page on air, and for an answer.
        var probe: Int64 = 1_000_000_000
        var answer: Int64 = 2_000_000_000
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

    private struct Loading: Hashable, Sendable {
        var until: Int64
        var isLoaded = false
        var isPainted = false
        var isIdle = false
        /// Time from which on the expression may be evaluated again.
        var evaluateAt: Int64
    }

    private struct Showing: Hashable, Sendable {
        var since: Int64
        var probeAt: Int64
        /// Time of a question without an answer.
        var askedAt: Int64?
    }

    private enum Step: Hashable, Sendable {
        case waiting
        case starting(until: Int64)
        case loading(Loading)
        case onAir(Showing)
        /// The page hangs and is being ended.
        case crashing(until: Int64)
        /// - Parameter restarts: Whether everything is started, and not only the page opened.
        case pausing(until: Int64, restarts: Bool)
        case over
    }

    private let limits: Limits
    private var job: PageJob?
    private var step = Step.waiting
    private var hasLoaded = false
    private var reloads = 0
    private var restarts = 0
    private(set) var state = PageState(.starting)
    private var hasUplink = false
    private var dialAt: Int64?
    private var dials = 0
    private var awaySince: Int64?

    init(limits: Limits = Limits()) { self.limits = limits }

    var hasPage: Bool { job != nil }
    var isOver: Bool { step == .over }
    var isOnAir: Bool { if case .onAir = step { true } else { false } }

    // MARK: - The page

    mutating func publish(_ job: PageJob, now: Int64) -> [Action] {
        guard step == .waiting else { return [.report(.refused(reason: "This worker has a page already."))] }
        self.job = job
        return start(job, now)
    }

    private mutating func start(_ job: PageJob, _ now: Int64) -> [Action] {
        step = .starting(until: now.saturatingSum(limits.start))
        return [.start(job)] + tell(.starting)
    }

    /// Notes that browser, display, sound and capture are there.
    mutating func started(now: Int64) -> [Action] {
        guard case .starting = step else { return [] }
        return open(now)
    }

    private mutating func open(_ now: Int64) -> [Action] {
        guard let job else { return [] }
        let limit = Int64(saturating: min(max(job.readyLimit, 1), 3600) * 1e9)
        step = .loading(Loading(until: now.saturatingSum(limit), evaluateAt: now))
        return tell(.loading) + [.navigate(hasLoaded ? job.address : job.firstAddress ?? job.address)]
    }

    /// Notes that the server has answered with the page.
    mutating func loaded(now: Int64) -> [Action] {
        guard case .loading(var loading) = step else { return [] }
        loading.isLoaded = true
        hasLoaded = true
        step = .loading(loading)
        return showIfReady(now)
    }

    /// Notes that the page cannot be loaded, at the beginning or when it went elsewhere by itself.
    mutating func loadFailed(_ reason: String, now: Int64) -> [Action] {
        switch step {
        case .loading, .onAir: reload("the page cannot be loaded: \(reason)", now)
        default: []
        }
    }

    mutating func painted(now: Int64) -> [Action] {
        guard case .loading(var loading) = step, loading.isLoaded else { return [] }
        loading.isPainted = true
        step = .loading(loading)
        return showIfReady(now)
    }

    mutating func networkIsIdle(now: Int64) -> [Action] {
        guard case .loading(var loading) = step, loading.isLoaded else { return [] }
        loading.isIdle = true
        step = .loading(loading)
        return showIfReady(now)
    }

    private mutating func showIfReady(_ now: Int64) -> [Action] {
        guard case .loading(let loading) = step, job?.ready == .painted, loading.isPainted, loading.isIdle else {
            return []
        }
        return show(now)
    }

    /// Notes a text that the page has written to its console.
    mutating func wrote(_ text: String, now: Int64) -> [Action] {
        guard job?.ready == .console else { return [] }
        switch (text, step) {
        case ("START", .loading): return show(now)
        case ("END", .loading), ("END", .onAir): return end("the page has ended it")
        default: return []
        }
    }

    mutating func expressionIs(true isTrue: Bool, now: Int64) -> [Action] {
        guard isTrue, case .loading = step else { return [] }
        return show(now)
    }

    private mutating func show(_ now: Int64) -> [Action] {
        step = .onAir(Showing(since: now, probeAt: now.saturatingSum(limits.probe)))
        state.reason = nil
        dials = 0
        var actions: [Action] = [.show] + tell(.onAir)
        if !hasUplink, job?.picture == nil {
            awaySince = now
            dialAt = nil
            actions.append(.dial)
        }
        return actions
    }

    mutating func answered() {
        guard case .onAir(var showing) = step else { return }
        showing.askedAt = nil
        step = .onAir(showing)
    }

    /// Notes that the page's process has ended.
    mutating func crashed(now: Int64) -> [Action] {
        switch step {
        case .loading, .onAir: reload("the page has crashed", now)
        case .crashing: reload("the page did not answer for \(limits.answer / 1_000_000_000) s", now)
        default: []
        }
    }

    /// Notes that the browser, its display, its sound or the capture has ended.
    mutating func broke(_ reason: String, now: Int64) -> [Action] {
        switch step {
        case .waiting, .over, .pausing(_, true): return []
        case .starting, .loading, .onAir, .crashing, .pausing(_, false): return restart(reason, now)
        }
    }

    private mutating func reload(_ reason: String, _ now: Int64) -> [Action] {
        forgetFailures(now)
        let pause = limits.reloads[min(reloads, limits.reloads.count - 1)]
        reloads += 1
        step = .pausing(until: now.saturatingSum(pause), restarts: false)
        return [.hide] + tell(.failing, reason) + (pause == 0 ? open(now) : [])
    }

    private mutating func restart(_ reason: String, _ now: Int64) -> [Action] {
        forgetFailures(now)
        guard restarts < limits.mostStarts else { return end("\(reason), \(restarts + 1) times") }
        let pause = limits.restarts[min(restarts, limits.restarts.count - 1)]
        restarts += 1
        step = .pausing(until: now.saturatingSum(pause), restarts: true)
        return [.hide, .stop] + tell(.failing, reason)
    }

    private mutating func forgetFailures(_ now: Int64) {
        guard case .onAir(let showing) = step, now.saturatingDifference(showing.since) >= limits.calm else { return }
        (reloads, restarts) = (0, 0)
    }

    private mutating func tell(_ step: PageState.Step, _ reason: String? = nil) -> [Action] {
        let new = PageState(step, reason: reason ?? state.reason)
        defer { state = new }
        return new == state && step != .starting ? [] : [.report(.state(new))]
    }
}

extension PageMachine {
    // MARK: - The server that takes the stream

    mutating func uplinkBegan() {
        hasUplink = true
        awaySince = nil
        dials = 0
    }

    mutating func uplinkEnded(_ fault: ConnectionFault, now: Int64) -> [Action] {
        hasUplink = false
        // A server ends a publisher that sends nothing for a time. It is connected to again when there is something to send.
        guard isOnAir else { return [] }
        switch fault.kind {
        // A stream is refused while another publisher of it, such as the page before this one, has not gone yet.
        case .refused, .unreachable, .timedOut, .lost, .ended, .streamRefused: break
        default: return end("the stream was not taken: \(fault.words)")
        }
        let since = awaySince ?? now
        awaySince = since
        guard now.saturatingDifference(since) < limits.absence else {
            return end("the ingest does not take the stream: \(fault.words)")
        }
        dialAt = now.saturatingSum(limits.dials[min(dials, limits.dials.count - 1)])
        dials += 1
        return []
    }

    // MARK: - Time

    /// Call this every 50 ms or so.
    mutating func tick(now: Int64) -> [Action] {
        switch step {
        case .waiting, .over: return []
        case .starting(let until):
            return now < until ? [] : restart("the browser did not start in time", now)
        case .loading(let loading): return tick(loading, now)
        case .crashing(let until):
            return now < until ? [] : restart("the page hangs and cannot be ended", now)
        case .pausing(let until, let restarts):
            guard now >= until, let job else { return [] }
            return restarts ? start(job, now) : open(now)
        case .onAir(var showing):
            var actions: [Action] = []
            if let asked = showing.askedAt {
                if now.saturatingDifference(asked) >= limits.answer {
                    step = .crashing(until: now.saturatingSum(limits.crash))
                    return [.hide, .crash]
                }
            } else if now >= showing.probeAt {
                showing.askedAt = now
                showing.probeAt = now.saturatingSum(limits.probe)
                actions.append(.probe)
            }
            step = .onAir(showing)
            if let time = dialAt, now >= time, !hasUplink {
                dialAt = nil
                actions.append(.dial)
            }
            return actions
        }
    }

    private mutating func tick(_ loading: Loading, _ now: Int64) -> [Action] {
        if now >= loading.until {
            switch job?.ready {
            // A network that is never idle is that of a page that asks its server again and again.
            case .painted? where loading.isPainted: return show(now)
            case .painted?, nil: return reload("the page has painted nothing within \(limit)", now)
            case .console?: return end("the page has not written START to its console within \(limit)")
            case .expression?: return end("the page's expression has not become true within \(limit)")
            }
        }
        guard case .expression(let text)? = job?.ready, loading.isLoaded, now >= loading.evaluateAt else { return [] }
        var loading = loading
        loading.evaluateAt = now.saturatingSum(limits.evaluation)
        step = .loading(loading)
        return [.evaluate(text)]
    }

    private var limit: String { "\(Int((job?.readyLimit ?? 0).rounded())) s (pages.readyTimeout)" }

    /// Ends the publication.
    mutating func end(_ reason: String) -> [Action] {
        guard step != .over else { return [] }
        step = .over
        return (hasPage ? [.hide, .report(.ended(reason: reason))] : []) + [.finish]
    }
}
