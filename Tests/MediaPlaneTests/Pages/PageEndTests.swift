import MixModel
import Testing

@testable import PageCapture

/// How pages end by themselves, without a browser.
struct PageEndTests {
    private static let ended: [PageMachine.Action] = [
        .hide, .report(.ended(reason: "the page has ended it")), .finish,
    ]

    /// Returns a page that has been on air since 0.
    private static func onAir(_ ready: PageReadiness, end: PageEnding?) -> PageMachine {
        var machine = PageMachine()
        let job = PageJob(
            address: "https://a.example/", target: "rtmp://127.0.0.1/publish/k", width: 640, height: 360,
            frameRate: 30, ready: ready, end: end)
        _ = machine.publish(job, now: 0) + machine.started(now: 0) + machine.loaded(now: 0)
        _ = machine.painted(now: 0) + machine.networkIsIdle(now: 0)
        if ready == .console { _ = machine.wrote("START", now: 0) }
        if case .expression = ready { _ = machine.expressionIs(true: true, now: 0) }
        #expect(machine.isOnAir)
        machine.uplinkBegan()
        return machine
    }

    private static let readiness: [PageReadiness] = [.painted, .console, .expression("window.ready")]

    @Test(arguments: readiness) func theConsoleEndsEachKindOfPage(_ ready: PageReadiness) {
        var machine = Self.onAir(ready, end: .console)
        #expect(machine.wrote("THE END", now: 1) == [] && machine.wrote("END", now: 1) == Self.ended)
        #expect(machine.isOver && machine.wrote("END", now: 2) == [])
    }

    @Test(arguments: readiness) func anExpressionEndsEachKindOfPage(_ ready: PageReadiness) {
        var machine = Self.onAir(ready, end: .expression("window.over"))
        #expect(machine.wrote("END", now: 1) == [], "another end was asked for")
        #expect(machine.tick(now: 1) == [.evaluateEnd("window.over")])
        #expect(machine.tick(now: 100_000_000) == [], "five times a second")
        #expect(machine.endIs(true: false) == [])
        #expect(machine.expressionIs(true: true, now: 2) == [], "a late answer about its beginning")
        #expect(machine.tick(now: 250_000_000) == [.evaluateEnd("window.over")])
        #expect(machine.endIs(true: true) == Self.ended && machine.isOver)
    }

    @Test(arguments: readiness) func aPageMayNeverEnd(_ ready: PageReadiness) {
        var machine = Self.onAir(ready, end: .never)
        #expect(machine.wrote("END", now: 1) == [] && machine.tick(now: 1) == [] && machine.isOnAir)
    }

    /// Scripts that know nothing of the service may write END for themselves.
    @Test func onlyAPageThatSaysStartEndsItselfUnasked() {
        for ready in Self.readiness {
            var machine = Self.onAir(ready, end: nil)
            #expect(machine.wrote("END", now: 1) == (ready == .console ? Self.ended : []), "\(ready)")
        }
        let job = PageJob(address: "", target: "", width: 2, height: 2, frameRate: 30, end: .console)
        #expect(job.hearsConsole, "the browser is asked for its console")
    }

    /// Commands to a page that hangs would pile up, and those of a page that loads would be about the page before it.
    @Test func aPageIsAskedOnlyWhileItAnswersOnAir() {
        var machine = Self.onAir(.painted, end: .expression("window.over"))
        #expect(machine.tick(now: 300_000_000) == [.probe])
        #expect(machine.tick(now: 1_000_000_000) == [])
        _ = machine.answered()
        #expect(machine.tick(now: 1_000_000_001) == [.probe])
        _ = machine.answered()
        #expect(machine.tick(now: 1_000_000_002) == [.evaluateEnd("window.over")])
        _ = machine.crashed(now: 1_100_000_000)
        #expect(machine.endIs(true: true) == [] && machine.tick(now: 1_400_000_000) == [] && !machine.isOver)
    }
}
