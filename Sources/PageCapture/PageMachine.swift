import EncodedMedia
import MixModel
import RTMP

/// The lifetime of a page worker: one page from its first start to its end. Pure; times in ns of a monotonic clock.
///
/// Pictures of the screen leave the worker only in the state on air: while a page loads, has crashed or hangs, the
/// screen shows content that is not the page's.
struct PageMachine: Sendable {
    private static let endedByPage = "the page has ended it"

    let limits: Limits
    private var job: PageJob?
    var step = Step.waiting
    private var hasLoaded = false
    private var wasOnAir = false
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

    /// Starts everything for a page that is assigned later.
    mutating func prepare(_ job: PageJob, now: Int64) -> [Action] {
        guard step == .waiting else { return [.report(.refused(reason: "This worker has a page already."))] }
        step = .preparing(job, until: now.saturatingSum(limits.start))
        return [.start(job)]
    }

    mutating func publish(_ job: PageJob, now: Int64) -> [Action] {
        switch step {
        case .waiting:
            self.job = job
            return start(job, now)
        case .preparing(let other, _), .prepared(let other):
            guard job.hasBrowser(like: other) else {
                return [.report(.refused(reason: "The browser of this worker was started for other pages."))]
                    + end("it was started for other pages")
            }
            self.job = job
            guard case .prepared = step else {
                step = .starting(until: now.saturatingSum(limits.start))
                return [.take(job)] + tell(.starting)
            }
            return [.take(job)] + open(now)
        default: return [.report(.refused(reason: "This worker has a page already."))]
        }
    }

    /// Whether the worker and its browser are ready and wait for a page.
    var isPrepared: Bool { if case .prepared = step { true } else { false } }

    private mutating func start(_ job: PageJob, _ now: Int64) -> [Action] {
        step = .starting(until: now.saturatingSum(limits.start))
        return [.start(job)] + tell(.starting)
    }

    /// Records that browser, display, sound server and capture have started.
    mutating func started(now: Int64) -> [Action] {
        switch step {
        case .preparing(let job, _):
            step = .prepared(job)
            return [.report(.prepared)]
        case .starting: return open(now)
        default: return []
        }
    }

    private mutating func open(_ now: Int64) -> [Action] {
        guard let job else { return [] }
        let limit = Int64(saturating: min(max(job.readyLimit, 1), 3600) * 1e9)
        step = .loading(Loading(until: now.saturatingSum(limit), evaluateAt: now))
        return tell(.loading) + [.navigate(hasLoaded ? job.address : job.firstAddress ?? job.address)]
    }

    /// Records that the server has answered with the page.
    mutating func loaded(now: Int64) -> [Action] {
        guard case .loading(var loading) = step else { return [] }
        loading.isLoaded = true
        hasLoaded = true
        step = .loading(loading)
        return showIfReady(now)
    }

    /// Records that the page cannot be loaded, either initially or after it navigated by itself.
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
        guard case .loading(let loading) = step, job?.ready == .painted, hasPainted(loading), loading.isIdle else {
            return []
        }
        return show(now)
    }

    /// Returns whether the page has painted what it has to. A page over a program may be empty: an alert is there for a moment.
    private func hasPainted(_ loading: Loading) -> Bool {
        loading.isPainted || (loading.isLoaded && job?.picture != nil)
    }

    /// Records a text that the page has written to its console.
    mutating func wrote(_ text: String, now: Int64) -> [Action] {
        switch (text, step) {
        case ("START", .loading): job?.ready == .console ? show(now) : []
        case ("END", .loading), ("END", .onAir): job?.ending == .console ? end(Self.endedByPage) : []
        default: []
        }
    }

    mutating func expressionIs(true isTrue: Bool, now: Int64) -> [Action] {
        guard isTrue, case .loading = step else { return [] }
        return show(now)
    }

    mutating func endIs(true isTrue: Bool) -> [Action] { isTrue && isOnAir ? end(Self.endedByPage) : [] }

    private mutating func show(_ now: Int64) -> [Action] {
        step = .onAir(Showing(since: now, probeAt: now.saturatingSum(limits.probe)))
        wasOnAir = true
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

    mutating func answered() -> [Action] {
        guard case .onAir(var showing) = step else { return [] }
        let wasHidden = showing.isHidden
        (showing.askedAt, showing.lacked, showing.isHidden) = (nil, 0, false)
        step = .onAir(showing)
        return wasHidden ? [.show] : []
    }

    /// Records that the page's process has ended.
    mutating func crashed(now: Int64) -> [Action] {
        switch step {
        case .loading, .onAir: reload("the page has crashed", now)
        case .crashing(_, let reason, _): reload(reason, now)
        default: []
        }
    }

    /// Records that the browser refuses to end the page's process, as it does while the page navigates on.
    mutating func crashRefused(now: Int64) -> [Action] {
        // The page's server may be slow, which is no reason to restart the browser and, in the end, to give up.
        guard case .crashing(_, let reason, true) = step else { return [] }
        return reload(reason, now)
    }

    /// Records that the browser, its display, its sound server or the capture has ended.
    mutating func broke(_ reason: String, now: Int64) -> [Action] {
        switch step {
        case .waiting, .over, .pausing(_, true): return []
        // Another worker is prepared instead.
        case .preparing, .prepared: return end(reason)
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
        // Also while the page is hidden: a stream that stays without a publisher is ended, and the page with it.
        guard wasOnAir, !isOver else { return [] }
        switch fault.kind {
        // A stream is refused while another publisher of it, such as the previous page, is still connected.
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

    /// Returns the actions that are due. Call this every 50 ms or so.
    mutating func tick(now: Int64) -> [Action] {
        let actions = advance(to: now)
        guard let time = dialAt, now >= time, !hasUplink, !isOver else { return actions }
        dialAt = nil
        return actions + [.dial]
    }

    private mutating func advance(to now: Int64) -> [Action] {
        switch step {
        case .waiting, .over, .prepared: return []
        case .preparing(_, let until): return now < until ? [] : end("the browser did not start in time")
        case .starting(let until):
            return now < until ? [] : restart("the browser did not start in time", now)
        case .loading(let loading): return tick(loading, now)
        case .crashing(let until, _, _):
            return now < until ? [] : restart("the page hangs and cannot be ended", now)
        case .pausing(let until, let restarts):
            guard now >= until, let job else { return [] }
            return restarts ? start(job, now) : open(now)
        case .onAir(var showing):
            var actions: [Action] = []
            if let asked = showing.askedAt {
                let silence = now.saturatingDifference(asked)
                if silence.saturatingDifference(showing.lacked) >= limits.answer {
                    forgetFailures(now)
                    return [.hide] + crash("the page did not answer for \(limits.answer / 1_000_000_000) s", now)
                }
                // A still picture tells viewers nothing; the card of a stalled participant does.
                if silence >= limits.patience, !showing.isHidden {
                    showing.isHidden = true
                    actions.append(.hide)
                }
            } else if now >= showing.probeAt {
                showing.askedAt = now
                showing.probeAt = now.saturatingSum(limits.probe)
                actions.append(.probe)
            } else if case .expression(let text)? = job?.ending, now >= showing.evaluateAt {
                // Not of a page that owes an answer: commands to a page that hangs would pile up.
                showing.evaluateAt = now.saturatingSum(limits.evaluation)
                actions.append(.evaluateEnd(text))
            }
            step = .onAir(showing)
            return actions
        }
    }

    private mutating func tick(_ loading: Loading, _ now: Int64) -> [Action] {
        if now >= loading.until {
            switch job?.ready {
            // The network of a page that keeps polling its server is never idle.
            case .painted? where hasPainted(loading): return show(now)
            case .painted?, nil:
                let reason = "the page has painted nothing within \(limit)"
                // A script that never ends would block every later document of the same process.
                return loading.isLoaded ? crash(reason, now) : reload(reason, now)
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

    private mutating func crash(_ reason: String, _ now: Int64) -> [Action] {
        let isLoading = if case .loading = step { true } else { false }
        step = .crashing(until: now.saturatingSum(limits.crash), reason: reason, isLoading: isLoading)
        return [.crash]
    }

    private var limit: String { "\(Int((job?.readyLimit ?? 0).rounded())) s (pages.readyTimeout)" }

    /// Ends the publication.
    mutating func end(_ reason: String) -> [Action] {
        guard step != .over else { return [] }
        step = .over
        return (hasPage ? [.hide, .report(.ended(reason: reason))] : []) + [.finish]
    }
}
