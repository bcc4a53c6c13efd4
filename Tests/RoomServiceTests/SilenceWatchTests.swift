import TestSupport
import Testing

@testable import RoomService

/// Workers that fall silent, and callers that stand still, in simulated time.
@Suite struct SilenceWatchTests {
    private static let second: Int64 = 1_000_000_000
    private static let resting = ProcessRun(threads: [7: 5, 8: 6], isHeldUp: false)

    /// Makes checks until one finds a fault, at most until `end`.
    ///
    /// - Parameters:
    ///   - late: Delay of each check in ns.
    ///   - process: State of the process at a time in ns.
    /// - Returns: The fault, and its time in ns.
    private func fault(
        of watch: SilenceWatch, until end: Int64, late: Int64 = 0, _ process: (Int64) -> ProcessRun?
    ) -> (what: SilenceWatch.Fault, at: Int64)? {
        var watch = watch
        while watch.due + late <= end {
            let now = watch.due + late
            let needsProcess = watch.begin(at: now)
            if let what = watch.judge(at: now, needsProcess ? process(now) : nil) { return (what, now) }
        }
        return nil
    }

    @Test func aProcessThatDoesNotRunIsFoundAfterThreeSeconds() throws {
        let found = try #require(
            fault(of: SilenceWatch(at: 0, isExamined: true), until: 60 * Self.second) { _ in Self.resting })
        #expect(found.what == .stopped && found.at == 3 * Self.second)
        // Its last report was later than the connection.
        var watch = SilenceWatch(at: 0, isExamined: true)
        watch.heard(at: 17 * Self.second / 10)
        let later = try #require(fault(of: watch, until: 60 * Self.second) { _ in Self.resting })
        #expect(later.what == .stopped && later.at == 47 * Self.second / 10)
    }

    /// A thread of it runs, or it waits for a CPU or a disk, or nothing is known of it.
    @Test func aProcessThatIsHeldUpGetsFifteenSeconds() throws {
        let processes: [(Int64) -> ProcessRun?] = [
            { ProcessRun(threads: [7: $0], isHeldUp: false) },
            { _ in ProcessRun(threads: [7: 5], isHeldUp: true) },
            { ProcessRun(threads: [7: 5], isHeldUp: $0 / 1_200_000_000 % 2 == 0) },
            { _ in nil },
        ]
        for process in processes {
            let found = try #require(
                fault(of: SilenceWatch(at: 0, isExamined: true), until: 60 * Self.second, process))
            #expect(found.what == .silent && found.at == 15 * Self.second, "\(found)")
        }
    }

    @Test func aWorkerThatIsNotExaminedGetsFifteenSeconds() throws {
        let found = try #require(
            fault(of: SilenceWatch(at: 0, isExamined: false), until: 60 * Self.second) { _ in
                Issue.record("it is examined")
                return nil
            })
        #expect(found.what == .silent && found.at == 15 * Self.second)
    }

    /// A relay that drains waits for a recorder, or for a server that does not answer, and neither runs nor reports.
    @Test func aWorkerThatWasToldToEndGetsFifteenSeconds() throws {
        for readings in 0...1 {
            var watch = SilenceWatch(at: 0, isExamined: true)
            for _ in 0..<readings {
                let now = watch.due
                let needsProcess = watch.begin(at: now)
                #expect(watch.judge(at: now, needsProcess ? Self.resting : nil) == nil)
            }
            watch.ends()
            let found = try #require(
                fault(of: watch, until: 60 * Self.second) { _ in
                    Issue.record("it is examined")
                    return nil
                })
            #expect(found.what == .silent && found.at >= 15 * Self.second && found.at < 18 * Self.second, "\(found)")
        }
    }

    /// The caller and the worker stand still together, as on a suspended machine: the first check after it must not end
    /// the worker, although nothing has arrived and it has not run.
    @Test(arguments: [2, 60, 3600]) func aStandstillOfTheCallerIsNoSilence(seconds: Int64) throws {
        for tenth in 0...30 {
            var watch = SilenceWatch(at: 0, isExamined: true)
            let begin = Int64(tenth) * Self.second / 10
            // The checks before the standstill are on time.
            while watch.due < begin {
                let now = watch.due
                let needsProcess = watch.begin(at: now)
                #expect(watch.judge(at: now, needsProcess ? Self.resting : nil) == nil)
            }
            let end = begin + seconds * Self.second
            guard end - watch.due > SilenceWatch.lateness else { continue }
            let needsProcess = watch.begin(at: end)
            #expect(watch.judge(at: end, needsProcess ? Self.resting : nil) == nil, "from \(begin)")
            // A worker that has stood still for longer than the caller is found.
            let found = try #require(fault(of: watch, until: end + 60 * Self.second) { _ in Self.resting })
            #expect(found.what == .stopped && found.at <= end + 3 * Self.second, "from \(begin): \(found)")
        }
    }

    /// The caller and the worker stand still together while the caller reads the worker's state, and the next check must
    /// not follow at once: the worker has had no time to run since then.
    @Test(arguments: [1, 2, 60]) func aStandstillWhileItReadsIsNoSilence(seconds: Int64) {
        var watch = SilenceWatch(at: 0, isExamined: true)
        let now = watch.due
        let needsProcess = watch.begin(at: now)
        #expect(needsProcess)
        let readAt = now + seconds * Self.second
        #expect(watch.judge(at: now, Self.resting, readAt: readAt) == nil)
        #expect(watch.due == readAt + SilenceWatch.step)
    }

    /// The machine is so busy that every check is late.
    @Test func aCallerThatIsAlwaysLateGivesAWorkerUp() throws {
        let found = try #require(
            fault(of: SilenceWatch(at: 0, isExamined: true), until: 60 * Self.second, late: Self.second / 2) { _ in
                Self.resting
            })
        #expect(found.what == .silent && found.at < 30 * Self.second, "\(found)")
    }

    /// A working relay reports every second, up to 0.5 s late. The caller stands still now and then, and reads the reports
    /// only after the check that was due.
    @Test func aWorkingRelayIsNeverKilled() {
        var random = SeededGenerator(announcedFor: "aWorkingRelayIsNeverKilled")
        for _ in 0..<200 {
            var watch = SilenceWatch(at: 0, isExamined: true)
            var nextReport = Self.second
            for _ in 0..<200 {
                let late =
                    Int.random(in: 0..<10, using: &random) == 0
                    ? Int64.random(in: 0...30 * Self.second, using: &random) : 0
                let due = watch.due
                let now = due + late
                // The caller has been awake until the check was due.
                while nextReport < due {
                    watch.heard(at: nextReport)
                    nextReport += Int64.random(in: Self.second...3 * Self.second / 2, using: &random)
                }
                let needsProcess = watch.begin(at: now)
                // The relay has stood still together with the caller.
                let process = ProcessRun(threads: [7: due], isHeldUp: false)
                #expect(watch.judge(at: now, needsProcess ? process : nil) == nil)
                guard late > 0 else { continue }
                watch.heard(at: now)
                nextReport = now + Self.second
            }
        }
    }
}
