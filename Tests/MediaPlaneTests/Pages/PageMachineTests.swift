import MixModel
import RTMP
import Testing
import TextFormats

@testable import PageCapture

/// The states of a page, without a browser.
struct PageMachineTests {
    private static let second: Int64 = 1_000_000_000
    private static let job = PageJob(
        address: "https://a.example/", firstAddress: "https://a.example/?token=t", target: "rtmp://127.0.0.1/publish/k",
        width: 1280, height: 720, frameRate: 30, readyLimit: 30)

    private static func job(_ ready: PageReadiness) -> PageJob {
        var job = job
        job.ready = ready
        return job
    }

    /// Returns a page that has been loading since 0.
    private static func loading(_ ready: PageReadiness = .painted) -> PageMachine {
        var machine = PageMachine()
        let job = job(ready)
        #expect(machine.publish(job, now: 0) == [.start(job), .report(.state(PageState(.starting)))])
        #expect(
            machine.started(now: 0) == [.report(.state(PageState(.loading))), .navigate("https://a.example/?token=t")])
        return machine
    }

    /// Returns a page that has been on air since 0, with an accepted stream.
    private static func onAir() -> PageMachine {
        var machine = loading()
        #expect(machine.loaded(now: 0) == [] && machine.painted(now: 0) == [] && !machine.isOnAir)
        #expect(machine.networkIsIdle(now: 0) == [.show, .report(.state(PageState(.onAir))), .dial])
        machine.uplinkBegan()
        return machine
    }

    @Test func aPageIsShownOnceItIsPaintedAndItsNetworkIsIdle() {
        var machine = Self.loading()
        #expect(machine.painted(now: 0) + machine.networkIsIdle(now: 0) == [], "those of the page before it")
        #expect(machine.loaded(now: 1) + machine.networkIsIdle(now: 1) == [])
        #expect(machine.painted(now: 2).first == .show)
    }

    @Test func aPageWhoseNetworkIsNeverIdleIsShownAfterTheLimit() {
        var machine = Self.loading()
        _ = machine.loaded(now: 0)
        _ = machine.painted(now: 0)
        #expect(machine.tick(now: 30 * Self.second - 1) == [])
        #expect(machine.tick(now: 30 * Self.second).first == .show)
    }

    @Test func aPageThatPaintsNothingIsOpenedAgain() {
        var machine = Self.loading()
        _ = machine.loaded(now: 0)
        #expect(machine.tick(now: 30 * Self.second) == [.crash], "its process may hang")
        var deaf = machine
        let actions = machine.crashed(now: 30 * Self.second + 1)
        #expect(actions.first == .hide && actions.last == .navigate("https://a.example/"), "without the token")
        #expect(machine.state.reason == "the page has painted nothing within 30 s (pages.readyTimeout)")
        #expect(deaf.tick(now: 32 * Self.second).contains(.stop), "one that cannot be ended")
    }

    /// A page may navigate on to a server that never answers, again and again. The browser does not end its process then.
    @Test func aPageThatNavigatesOnIsOpenedAgainAndAgain() {
        var machine = Self.loading()
        for round in Int64(1)...12 {
            let now = round * 100 * Self.second
            _ = machine.loaded(now: now - 40 * Self.second)
            #expect(machine.tick(now: now) == [.crash], "round \(round)")
            var actions = machine.crashRefused(now: now + 1)
            // The first time it is opened at once, and later after a pause.
            if round > 1 { actions += machine.tick(now: now + 31 * Self.second) }
            #expect(actions.first == .hide && !actions.contains(.stop) && !machine.isOver)
            #expect(actions.last == .navigate("https://a.example/"))
            #expect(machine.crashRefused(now: now + 31 * Self.second) == [], "once")
        }
        var hanging = Self.onAir()
        _ = hanging.tick(now: Self.second)
        #expect(hanging.tick(now: 4 * Self.second) == [.hide, .crash])
        #expect(hanging.crashRefused(now: 4 * Self.second) == [], "a page that hangs on air")
        #expect(hanging.tick(now: 5 * Self.second).contains(.stop))
    }

    /// Without a document there is nothing to end, and the browser refuses to end a process while it opens one.
    @Test func aPageWhoseServerDoesNotAnswerIsOpenedAgain() {
        var machine = Self.loading()
        let actions = machine.tick(now: 30 * Self.second)
        #expect(actions.first == .hide && actions.last == .navigate("https://a.example/?token=t"))
    }

    /// An alert paints nothing until there is something to tell.
    @Test func aPageOverAProgramMayBeEmpty() {
        var job: PageJob = Self.job
        job.picture = "/x.png"
        var machine = PageMachine()
        _ = machine.publish(job, now: 0) + machine.started(now: 0)
        #expect(machine.networkIsIdle(now: 1) == [], "that of the page before it")
        var polling = machine
        #expect(machine.loaded(now: 1) == [] && machine.networkIsIdle(now: 2).first == .show)
        #expect(polling.tick(now: 30 * Self.second).first == .hide, "its server has not answered")
        var second = PageMachine()
        _ = second.publish(job, now: 0) + second.started(now: 0) + second.loaded(now: 1)
        #expect(second.tick(now: 30 * Self.second).first == .show, "its network is never idle")
    }

    @Test func theConsoleBeginsAndEnds() {
        var machine = Self.loading(.console)
        _ = machine.loaded(now: 0)
        _ = machine.painted(now: 0)
        #expect(machine.networkIsIdle(now: 0) == [] && machine.wrote("START please", now: 0) == [])
        #expect(machine.wrote("START", now: 0).first == .show)
        #expect(machine.wrote("START", now: 0) == [])
        #expect(
            machine.wrote("END", now: 1) == [.hide, .report(.ended(reason: "the page has ended it")), .finish])
        var other = Self.onAir()
        #expect(other.wrote("END", now: 1) == [], "it was not asked for")
    }

    @Test func aPageThatGivesNoSignalEnds() {
        for ready in [PageReadiness.console, .expression("window.ready")] {
            var machine = Self.loading(ready)
            _ = machine.loaded(now: 0)
            #expect(machine.tick(now: 30 * Self.second).last == .finish)
        }
    }

    @Test func anExpressionIsEvaluatedUntilItIsTrue() {
        var machine = Self.loading(.expression("window.ready"))
        #expect(machine.tick(now: 0) == [], "there is no page yet")
        _ = machine.loaded(now: 0)
        #expect(machine.tick(now: 1) == [.evaluate("window.ready")])
        #expect(machine.tick(now: Self.second / 10) == [])
        #expect(machine.expressionIs(true: false, now: 2) == [])
        #expect(machine.tick(now: Self.second / 2) == [.evaluate("window.ready")])
        #expect(machine.expressionIs(true: true, now: 3).first == .show)
    }

    @Test func aCrashHidesThePageAndOpensItAgain() {
        var machine = Self.onAir()
        #expect(
            machine.crashed(now: 5) == [
                .hide, .report(.state(PageState(.failing, reason: "the page has crashed"))),
                .report(.state(PageState(.loading, reason: "the page has crashed"))), .navigate("https://a.example/"),
            ])
        #expect(machine.crashed(now: 6).contains(.hide) && machine.tick(now: 6) == [], "the next time after a pause")
        #expect(machine.tick(now: 6 + Self.second).contains(.navigate("https://a.example/")))
        _ = machine.loaded(now: 7)
        _ = machine.painted(now: 7)
        #expect(machine.networkIsIdle(now: 7) == [.show, .report(.state(PageState(.onAir)))], "its stream goes on")
    }

    @Test func aPageThatHangsIsEndedAndOpenedAgain() {
        var machine = Self.onAir()
        let probe = PageMachine.Limits().probe
        #expect(machine.tick(now: probe - 1) == [])
        #expect(machine.tick(now: probe) == [.probe])
        #expect(machine.answered() == [])
        let asked = 2 * Self.second
        #expect(machine.tick(now: asked) == [.probe])
        // The page's picture is frozen, and viewers are shown it only for a moment.
        let patience = PageMachine.Limits().patience
        #expect(machine.tick(now: asked + patience - 1) == [])
        #expect(machine.tick(now: asked + patience) == [.hide] && machine.tick(now: asked + patience + 1) == [])
        var slow = machine
        #expect(slow.answered() == [.show] && slow.isOnAir && slow.answered() == [])
        #expect(machine.tick(now: asked + 2 * Self.second) == [.hide, .crash])
        var deaf = machine
        #expect(machine.crashed(now: 4 * Self.second).last == .navigate("https://a.example/"))
        #expect(deaf.tick(now: 5 * Self.second).contains(.stop), "one that cannot be ended")
    }

    @Test func whatCannotBeLoadedIsTriedMoreAndMoreSeldom() {
        var machine = Self.loading()
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<8 {
            let actions = machine.loadFailed("net::ERR_CONNECTION_REFUSED", now: now)
            #expect(actions.first == .hide)
            let failedAt = now
            if !actions.contains(where: { if case .navigate = $0 { true } else { false } }) {
                while machine.tick(now: now).isEmpty { now += Self.second / 2 }
            }
            pauses.append((now - failedAt) / Self.second)
        }
        #expect(pauses == [0, 1, 2, 5, 10, 30, 30, 30])
        #expect(machine.state.reason == "the page cannot be loaded: net::ERR_CONNECTION_REFUSED")
    }

    @Test func aBrowserThatEndsIsStartedAgainAndNotForEver() {
        var machine = Self.onAir()
        var now: Int64 = 0
        var starts = 0
        while !machine.isOver {
            let actions = machine.broke("the browser ended", now: now)
            #expect(actions.first == .hide)
            guard !machine.isOver else { break }
            #expect(actions.contains(.stop) && machine.broke("the display ended", now: now) == [], "once")
            while machine.tick(now: now).isEmpty { now += Self.second / 4 }
            starts += 1
        }
        #expect(starts == 5)
    }

    @Test func failuresAreForgottenAfterSomeTimeOnAir() {
        var machine = Self.onAir()
        for round in 1...20 {
            let now = Int64(round) * 40 * Self.second
            #expect(machine.crashed(now: now).last == .navigate("https://a.example/"), "at once, in round \(round)")
            _ = machine.loaded(now: now)
            _ = machine.painted(now: now)
            _ = machine.networkIsIdle(now: now)
        }
    }

    /// A page that hangs once in a while is never opened later, or given up, for what happened long ago.
    @Test(arguments: [true, false]) func hangsAreForgottenLikewise(_ canBeEnded: Bool) {
        var machine = Self.onAir()
        for round in 1...20 {
            let now = Int64(round) * 60 * Self.second
            #expect(machine.tick(now: now) == [.probe], "round \(round)")
            #expect(machine.tick(now: now + 3 * Self.second) == [.hide, .crash])
            if canBeEnded {
                #expect(machine.crashed(now: now + 3 * Self.second).last == .navigate("https://a.example/"), "at once")
            } else {
                #expect(machine.tick(now: now + 4 * Self.second).contains(.stop))
                #expect(machine.tick(now: now + 5 * Self.second).first == .start(Self.job), "soon")
                _ = machine.started(now: now + 5 * Self.second)
            }
            _ = machine.loaded(now: now + 5 * Self.second)
            _ = machine.painted(now: now + 5 * Self.second)
            #expect(machine.networkIsIdle(now: now + 5 * Self.second).contains(.show))
        }
    }

    /// A stream that stays without a publisher is ended, and the page with it.
    @Test func aServerThatLosesAHiddenPageIsConnectedToAgain() {
        var machine = Self.onAir()
        _ = machine.crashed(now: 0)
        #expect(machine.uplinkEnded(ConnectionFault(.lost, "x"), now: 1) == [] && machine.tick(now: 2) == [])
        #expect(machine.tick(now: Self.second) == [.dial] && machine.tick(now: 2 * Self.second) == [])
        var unanswered = machine
        machine.uplinkBegan()
        _ = machine.loaded(now: 3 * Self.second) + machine.painted(now: 3 * Self.second)
        #expect(machine.networkIsIdle(now: 3 * Self.second) == [.show, .report(.state(PageState(.onAir)))])
        _ = unanswered.loaded(now: 3 * Self.second) + unanswered.painted(now: 3 * Self.second)
        #expect(unanswered.networkIsIdle(now: 3 * Self.second).last == .dial)
    }

    @Test func aHiddenPageWaitsNoLongerForAServerThatIsAway() {
        var machine = Self.onAir()
        _ = machine.crashed(now: 0) + machine.crashed(now: 1)
        #expect(machine.uplinkEnded(ConnectionFault(.lost, "x"), now: 1) == [])
        #expect(machine.tick(now: Self.second / 2) == [.dial], "while it pauses")
        #expect(machine.uplinkEnded(ConnectionFault(.unreachable, "x"), now: 32 * Self.second).last == .finish)
        #expect(machine.uplinkEnded(ConnectionFault(.unreachable, "x"), now: 33 * Self.second) == [])
        #expect(machine.tick(now: 40 * Self.second) == [])
    }

    @Test func aServerThatIsAwayIsWaitedFor() {
        var machine = Self.onAir()
        #expect(machine.uplinkEnded(ConnectionFault(.lost, "x"), now: 0) == [])
        #expect(machine.tick(now: Self.second / 10).contains(.dial))
        #expect(machine.uplinkEnded(ConnectionFault(.unreachable, "x"), now: 31 * Self.second).last == .finish)
    }

    @Test func anEndIsAnEnd() {
        var machine = Self.onAir()
        #expect(machine.end("told to").last == .finish && machine.isOver)
        #expect(machine.end("again") == [] && machine.crashed(now: 0) == [] && machine.tick(now: .max) == [])
        #expect(machine.broke("x", now: 0) == [] && machine.started(now: 0) == [])
        var idle = PageMachine()
        #expect(idle.end("nobody came") == [.finish])
    }

    // MARK: - Browsers that wait

    private static var warm: PageJob {
        var job = job
        (job.address, job.firstAddress, job.target) = ("", nil, "")
        return job
    }

    @Test func aBrowserThatWaitsIsGivenItsPage() {
        var machine = PageMachine()
        #expect(machine.prepare(Self.warm, now: 0) == [.start(Self.warm)] && !machine.isPrepared)
        #expect(machine.started(now: 1) == [.report(.prepared)] && machine.isPrepared && !machine.hasPage)
        #expect(machine.tick(now: 3600 * Self.second) == [])
        let now = 4000 * Self.second
        #expect(
            machine.publish(Self.job, now: now) == [
                .take(Self.job), .report(.state(PageState(.loading))), .navigate("https://a.example/?token=t"),
            ])
        #expect(machine.hasPage && !machine.isPrepared)
        _ = machine.loaded(now: now) + machine.painted(now: now)
        #expect(machine.networkIsIdle(now: now).first == .show)
        // From here on, restarts are the usual ones, with the page's own job.
        #expect(machine.broke("the display is gone", now: now).contains(.stop))
        #expect(machine.tick(now: now + Self.second).first == .start(Self.job))
    }

    @Test func aPageMayComeBeforeItsBrowserIsReady() {
        var machine = PageMachine()
        _ = machine.prepare(Self.warm, now: 0)
        #expect(machine.publish(Self.job, now: 1) == [.take(Self.job), .report(.state(PageState(.starting)))])
        #expect(machine.started(now: 2).contains(.navigate("https://a.example/?token=t")))
    }

    @Test func aBrowserForOtherPagesIsOfNoUse() {
        for change in [
            { $0.width = 640 }, { $0.frameRate = 25 }, { $0.user = "www" }, { $0.isUnconfined = true },
            { $0.picture = "/x.png" }, { $0.processors = 1 }, { $0.niceness = 1 },
        ] as [(inout PageJob) -> Void] {
            var (machine, other) = (PageMachine(), Self.job)
            change(&other)
            #expect(!other.hasBrowser(like: Self.job))
            _ = machine.prepare(Self.warm, now: 0) + machine.started(now: 0)
            let actions = machine.publish(other, now: 1)
            #expect(
                actions.last == .finish && machine.isOver
                    && !actions.contains { if case .take = $0 { true } else { false } })
        }
    }

    @Test func aBrowserThatWaitsInVainEndsWithItsWorker() {
        for isReady in [false, true] {
            var machine = PageMachine()
            _ = machine.prepare(Self.warm, now: 0)
            if isReady { _ = machine.started(now: 0) }
            #expect(machine.prepare(Self.warm, now: 0).count == 1, "once")
            #expect(machine.broke("the browser has ended", now: 1) == [.finish] && machine.isOver)
        }
        var machine = PageMachine()
        _ = machine.prepare(Self.warm, now: 0)
        #expect(machine.tick(now: 20 * Self.second - 1) == [] && machine.tick(now: 20 * Self.second) == [.finish])
    }
}
