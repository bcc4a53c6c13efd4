import EncodedMedia
import MixModel
import TextFormats

/// The service's view of one page, from its event to its end. Pure: times are arguments, in ns of a monotonic clock.
///
/// A worker that ends without announcing it is replaced, after growing delays if replacing it does not help.
struct PageSessionMachine: Sendable {
    enum Input: Hashable, Sendable {
        /// The worker is connected.
        case attached
        case report(PageReport)
        case detached
        /// The worker is gone, or never started.
        case lost(reason: String)
        case close
    }

    enum Action: Hashable, Sendable {
        case send(PageCommand)
        /// The page has been opened with its token, which is now used up.
        case forgetToken
        case state(PageState)
        /// Starts another worker after this time.
        case restart(after: Duration)
        /// Ends the page. Only the end of the worker follows.
        case end(reason: String)
    }

    private enum Step: Hashable, Sendable {
        case running, ended
    }

    static let pauses: [Duration] = [.zero, .seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30)]
    /// Time on air after which failures are forgotten.
    static let calm: Int64 = 30_000_000_000

    private(set) var job: PageJob
    private(set) var state = PageState(.starting)
    private var step = Step.running
    private var failures = 0
    private var onAirSince: Int64?
    private var isGone = false

    init(_ job: PageJob) { self.job = job }

    var isEnded: Bool { step == .ended }
    /// Whether nothing further can happen.
    var isOver: Bool { isEnded && isGone }

    mutating func take(_ input: Input, now: Int64) -> [Action] {
        switch input {
        case .attached:
            let hello = Action.send(.hello(version: PageCommand.version))
            return isEnded ? [hello, .send(.terminate)] : [hello]
        case .detached: return []
        case .lost(let reason): return lost(reason, now)
        case .close:
            guard !isEnded else { return [] }
            step = .ended
            return [.send(.terminate)]
        case .report(let report): return isEnded ? [] : reported(report, now)
        }
    }

    private mutating func reported(_ report: PageReport, _ now: Int64) -> [Action] {
        switch report {
        case .hello(let version, _):
            // A worker that already has a page reports its state.
            return version == PageCommand.version ? [.send(.publish(job))] : [.send(.terminate)]
        case .refused, .prepared: return []
        case .state(let new):
            state = PageState(new.step, reason: new.reason.map(Self.words))
            if new.step != .onAir { leaveAir(now) }
            guard new.step == .onAir else { return [.state(state)] }
            onAirSince = onAirSince ?? now
            guard job.firstAddress != nil else { return [.state(state)] }
            job.firstAddress = nil
            return [.state(state), .forgetToken]
        case .ended(let reason):
            step = .ended
            return [.end(reason: Self.words(reason))]
        }
    }

    private mutating func lost(_ reason: String, _ now: Int64) -> [Action] {
        guard !isEnded else {
            isGone = true
            return []
        }
        leaveAir(now)
        let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
        failures += 1
        state = PageState(.failing, reason: Self.words(reason))
        return [.state(state), .restart(after: pause)]
    }

    private mutating func leaveAir(_ now: Int64) {
        if let since = onAirSince, now.saturatingDifference(since) >= Self.calm { failures = 0 }
        onAirSince = nil
    }

    /// The worker's text is not trusted to be short, or free of secrets.
    private static func words(_ reason: String) -> String {
        URLRedaction.redact(OneLine.of(reason)).shortened(toBytes: 400)
    }
}
