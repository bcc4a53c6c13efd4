import EncodedMedia
import Foundation
import GStreamerKit
import Logging
import MediaFormats
import MixModel
import RTMP
import TextFormats
import WebRTCGateway

/// Performs the decisions of a `PageMachine`: owns the proxy, the browser with its processes, the capture and the
/// connection to the ingest.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
package final class PagePublication: StreamDuty, @unchecked Sendable {
    package static var elements: [(name: String, package: String)] { PagePipeline.elements }

    private static let interval: Int64 = 50_000_000
    /// Interval in ns between two reports, which tell the service that the worker does not hang.
    private static let reportInterval: Int64 = 2_000_000_000
    /// Interval in ns between two measurements of the browser's CPU use.
    private static let measuringInterval: Int64 = 500_000_000

    private let loop = SocketLoop.shared
    private let thread = LastingThread(name: "page")
    private let logger: Logger
    private let report: (PageReport) -> Void
    private let onEnd: () -> Void

    private var machine = PageMachine()
    private var outflow: PageOutflow?
    /// Destination of the pictures, instead of the outflow.
    private var picture: PagePicture?
    /// The page that is published; `nil` while the browser waits for one.
    private var job: PageJob?
    private var surroundings: PageSurroundings?
    private var stage: PageStage?
    /// Starts and ends stages, one after another.
    private var work: Task<Void, Never>?
    private let ticker = LoopDeadline()
    /// Time of the first start.
    private var begin: Int64?
    private var reportAt: Int64 = 0
    private var startReport = StartReport()
    private var starvation = Starvation()
    private let measuring = DispatchQueue(label: "page processors")
    private var isMeasuring = false
    private var measureAt: Int64 = 0

    package static func refusal(_ reason: String) -> PageReport { .refused(reason: reason) }

    package init(logger: Logger, report: @escaping (PageReport) -> Void, onEnd: @escaping () -> Void) {
        self.logger = logger
        self.report = report
        self.onEnd = onEnd
        ticker.begin { [weak self] in self?.tick() }
    }

    package var greeting: [PageReport] {
        let hello = PageReport.hello(version: PageCommand.version, process: getpid())
        if machine.hasPage { return [hello, .state(machine.state)] }
        return machine.isPrepared ? [hello, .prepared] : [hello]
    }

    package func obey(_ command: PageCommand) {
        switch command {
        case .hello, .terminate: break
        case .prepare(let job): prepare(job)
        case .publish(let job): publish(job)
        }
    }

    package func terminate() { perform(machine.end("the service ended it")) }

    private func prepare(_ job: PageJob) {
        perform(machine.prepare(job, now: MonotonicClock.now()))
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    private func publish(_ job: PageJob) {
        guard !machine.hasPage else { return perform(machine.publish(job, now: MonotonicClock.now())) }
        self.job = job
        if let path = job.picture { picture = PagePicture(path: path, width: job.width, height: job.height) }
        do throws(RTMPError) {
            if picture == nil {
                outflow = PageOutflow(try RTMPAddress(job.target)) { [weak self] event in self?.take(event) }
            }
        } catch {
            report(.refused(reason: "The stream has no valid target: \(error)"))
            return onEnd()
        }
        startReport.begin(at: MonotonicClock.now())
        perform(machine.publish(job, now: MonotonicClock.now()))
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    /// Unpublishes the stream and ends all processes started for it.
    package func close() async {
        let (outflow, work) = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                ticker.end()
                picture?.close()
                stop()
                continuation.resume(returning: (self.outflow, self.work))
            }
        }
        await outflow?.close()
        await work?.value
        let found = await knownSurroundings()
        found?.proxy.stop()
        try? await thread.run { found?.directory.remove() }
    }

    // MARK: - Actions

    private func perform(_ actions: [PageMachine.Action]) {
        for action in actions {
            switch action {
            case .start(let job): start(job)
            case .take: takePage()
            case .stop: stop()
            case .navigate(let address):
                picture?.forget()
                stage?.browser.navigate(to: address)
            case .evaluate(let expression):
                stage?.browser.evaluate(expression) { .expressionIs($0) }
            case .evaluateEnd(let expression):
                stage?.browser.evaluate(expression) { .endIs($0) }
            case .probe: stage?.browser.probe()
            case .crash: stage?.browser.crash()
            case .show: show()
            case .hide: hide()
            case .report(let report):
                switch report {
                case .ended(let reason): logger.notice("the page has ended: \(reason)")
                case .state(let state) where state.step == .failing: logger.warning("\(state.reason ?? "")")
                default: break
                }
                self.report(report)
            case .dial: outflow?.dial()
            case .finish: onEnd()
            }
        }
    }

    private func show() {
        if let words = startReport.end(at: MonotonicClock.now()) { logger.info("the page is \(words)") }
        stage?.pipeline?.requestKeyframe()
        picture?.show()
        outflow?.show()
    }

    private func hide() {
        picture?.hide()
        outflow?.hide()
    }

    private func start(_ job: PageJob) {
        let before = work
        let begin = begin ?? MonotonicClock.now()
        self.begin = begin
        work = Task { [weak self] in
            await before?.value
            await self?.makeStage(job, begin)
        }
    }

    /// Shows the page in the browser that is prepared or being prepared.
    private func takePage() {
        rule()
        // Times are relative to the arrival of the page, not to the start of the wait.
        begin = MonotonicClock.now()
        let before = work
        work = Task { [weak self] in
            await before?.value
            await self?.beginCapture()
        }
    }

    /// Puts the page's rules into force, before the browser is told the page.
    private func rule() {
        guard let job else { return }
        surroundings?.proxy.rule(by: ProxyRules(job))
        if job.hearsConsole { stage?.browser.hearConsole() }
    }

    private func beginCapture() async {
        let stage = await withCheckedContinuation { continuation in
            loop.perform { [self] in continuation.resume(returning: self.stage) }
        }
        do {
            try await stage?.play()
        } catch {
            let words = "\(error)"
            loop.perform { [self] in perform(machine.broke(words, now: MonotonicClock.now())) }
        }
    }

    private func stop() {
        let before = work
        work = Task { [weak self] in
            await before?.value
            await self?.endStage()
        }
    }

    private func makeStage(_ job: PageJob, _ begin: Int64) async {
        do {
            let shared = try await makeSurroundings(job)
            let stage = try await PageStage.start(
                job, in: shared.directory, proxyPort: shared.proxy.port, share: shared.share, begin: begin, on: thread
            ) { [weak self, loop] event in
                loop.run { [weak self] in self?.take(event) }
            }
            // Without a page there is nothing to capture.
            let hasPage = await withCheckedContinuation { continuation in
                loop.perform { [self] in continuation.resume(returning: machine.hasPage) }
            }
            if hasPage { try await stage.playOrEnd(on: thread) }
            loop.perform { [self] in
                self.stage = stage
                startReport.note(.processes, at: MonotonicClock.now())
                rule()
                stage.begin()
            }
        } catch {
            let words = "\(error)"
            loop.perform { [self] in perform(machine.broke(words, now: MonotonicClock.now())) }
        }
    }

    private func knownSurroundings() async -> PageSurroundings? {
        await withCheckedContinuation { continuation in
            loop.perform { [self] in continuation.resume(returning: self.surroundings) }
        }
    }

    private func makeSurroundings(_ job: PageJob) async throws -> PageSurroundings {
        if let found = await knownSurroundings() { return found }
        let logger = logger
        let made = try await thread.run { try PageSurroundings(job, logger: logger) }
        loop.perform { [self] in surroundings = made }
        return made
    }

    private func endStage() async {
        let stage = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                defer { self.stage = nil }
                self.stage?.close()
                continuation.resume(returning: self.stage)
            }
        }
        await stage?.end(on: thread)
    }

    // MARK: - What happens

    private func take(_ event: PageStage.Event) {
        let now = MonotonicClock.now()
        switch event {
        case .frame(let frame): if !machine.isOver { outflow?.take(frame) }
        case .failed(let reason): perform(machine.broke(reason, now: now))
        case .browser(let event):
            if let mark = StartReport.Mark(event) { startReport.note(mark, at: now) }
            switch event {
            case .ready: perform(machine.started(now: now))
            case .loaded: perform(machine.loaded(now: now))
            case .loadFailed(let reason): perform(machine.loadFailed(reason, now: now))
            case .painted: perform(machine.painted(now: now))
            case .networkIsIdle: perform(machine.networkIsIdle(now: now))
            case .wrote(let text): perform(machine.wrote(text, now: now))
            case .expressionIs(let isTrue): perform(machine.expressionIs(true: isTrue, now: now))
            case .endIs(let isTrue): perform(machine.endIs(true: isTrue))
            case .answered: perform(machine.answered())
            case .picture(let bytes): picture?.take(bytes)
            case .crashed: perform(machine.crashed(now: now))
            case .crashRefused: perform(machine.crashRefused(now: now))
            case .ended(let reason): perform(machine.broke(reason, now: now))
            }
        }
    }

    private func take(_ event: StreamUplink.Event) {
        switch event {
        case .began:
            machine.uplinkBegan()
            if outflow?.begin() ?? false { stage?.pipeline?.requestKeyframe() }
        case .keyframeWanted: stage?.pipeline?.requestKeyframe()
        case .ended(let fault):
            outflow?.end()
            logger.warning("the ingest does not take the stream: \(fault.words)")
            perform(machine.uplinkEnded(fault, now: MonotonicClock.now()))
        }
    }

    private func tick() {
        guard !machine.isOver else { return }
        let now = MonotonicClock.now()
        ticker.set(now + Self.interval)
        if let failure = stage?.pipeline?.pipeline.firstError {
            perform(machine.broke("the capture has failed: \(failure.message)", now: now))
        }
        measure(now)
        perform(machine.tick(now: now))
        outflow?.tick(now: now)
        guard now >= reportAt, machine.hasPage, !machine.isOver else { return }
        reportAt = now + Self.reportInterval
        report(.state(machine.state))
    }

    /// Tells the machine how long the browser has waited for CPUs, as long as that matters.
    private func measure(_ now: Int64) {
        guard machine.asksForProcessors(now: now) else { return starvation.forget() }
        guard now >= measureAt, !isMeasuring else { return }
        isMeasuring = true
        measureAt = now + Self.measuringInterval
        measuring.async { [self] in
            let use = ProcessorUse.ofDescendants()
            let time = MonotonicClock.now()
            loop.perform { [self] in
                isMeasuring = false
                machine.lacked(starvation.lacked(at: time, use, cores: surroundings?.share.cores.count ?? 0))
            }
        }
    }
}
