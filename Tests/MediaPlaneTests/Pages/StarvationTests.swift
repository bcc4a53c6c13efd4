import Foundation
import MixModel
import Testing

@testable import PageCapture

/// A page is not ended for the processor time that a busy machine withholds from it.
struct StarvationTests {
    private static let second: Int64 = 1_000_000_000

    private static func use(_ threads: [Int32: (Int64, Int64)]) -> ProcessorUse {
        ProcessorUse(threads: threads.mapValues { ProcessorUse.Thread(ran: $0.0, waited: $0.1) })
    }

    // MARK: - Counting

    @Test func onlyWaitsForProcessorsCount() {
        var starvation = Starvation()
        #expect(starvation.lacked(at: 0, Self.use([1: (0, 0)])) == 0, "nothing to compare with")
        #expect(starvation.lacked(at: 1000, Self.use([1: (1000, 0)])) == 0, "it had a processor")
        #expect(starvation.lacked(at: 2000, Self.use([1: (1000, 0)])) == 0, "it wanted none")
        #expect(starvation.lacked(at: 3000, Self.use([1: (1250, 750)])) == 750)
        #expect(starvation.lacked(at: 4000, Self.use([1: (1300, 900)])) == 150, "it slept for the rest")
    }

    @Test func threadsThatWaitSideBySideWaitOnce() {
        var starvation = Starvation()
        _ = starvation.lacked(at: 0, Self.use([1: (0, 0), 2: (0, 0)]))
        #expect(starvation.lacked(at: 1000, Self.use([1: (600, 400), 2: (400, 600)])) == 500)
        // A new thread counts from its start, and an ended one does not count.
        #expect(starvation.lacked(at: 2000, Self.use([2: (400, 600), 3: (300, 300)])) == 300)
    }

    /// A page whose threads compute all the time has the cores to which it is limited.
    @Test func threadsThatWaitForEachOtherLackNothing() {
        var starvation = Starvation()
        _ = starvation.lacked(at: 0, Self.use([1: (0, 0), 2: (0, 0)]), cores: 1)
        #expect(starvation.lacked(at: 1000, Self.use([1: (500, 500), 2: (500, 500)]), cores: 1) == 0)
        // Now another process has the core for half of the time.
        #expect(starvation.lacked(at: 2000, Self.use([1: (750, 1250), 2: (750, 1250)]), cores: 1) == 500)
        #expect(starvation.lacked(at: 3000, Self.use([1: (1250, 1750), 2: (1250, 1750)]), cores: 2) == 500)
    }

    @Test func aFifthOfTheTimeAlwaysCounts() {
        var starvation = Starvation()
        _ = starvation.lacked(at: 0, Self.use([1: (0, 0)]))
        #expect(starvation.lacked(at: 1000, Self.use([1: (1, .max)])) == 800)
    }

    @Test func whatIsNotKnownIsNotLacked() {
        var starvation = Starvation()
        _ = starvation.lacked(at: 0, Self.use([1: (0, 0)]))
        #expect(starvation.lacked(at: 1000, nil) == 0)
        #expect(starvation.lacked(at: 2000, Self.use([1: (0, 1500)])) == 0, "it may have been any time before")
        starvation.forget()
        #expect(starvation.lacked(at: 9000, Self.use([1: (0, 9000)])) == 0)
        #expect(starvation.lacked(at: 9000, Self.use([1: (0, 9900)])) == 0, "no time has passed")
    }

    // MARK: - Reading

    @Test func theKernelsLinesAreRead() {
        #expect(ProcessorUse.Thread("12 345 6\n") == ProcessorUse.Thread(ran: 12, waited: 345))
        for text in ["", "1 2", "1 2 3 4", "-1 2 3", "a b c", "99999999999999999999 1 1"] {
            #expect(ProcessorUse.Thread(text) == nil)
        }
    }

    @Test func descendantsAreFoundByTheirParents() throws {
        let root = NSTemporaryDirectory() + "use-\(UInt64.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: root) }
        func write(_ id: Int, parent: Int, _ threads: [Int: String]) throws {
            for (thread, text) in threads {
                let directory = "\(root)/\(id)/task/\(thread)"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                try text.write(toFile: "\(directory)/schedstat", atomically: false, encoding: .utf8)
            }
            let stat = "\(id) (a (strange) name) S \(parent) 1 1 0"
            try stat.write(toFile: "\(root)/\(id)/stat", atomically: false, encoding: .utf8)
        }
        try write(10, parent: 1, [10: "900 900 9"])
        try write(11, parent: 10, [11: "1 2 3", 12: "4 5 6"])
        try write(20, parent: 11, [20: "7 8 9", 21: "no number"])
        try write(30, parent: 1, [30: "900 900 9"])
        // A cycle of parents occurs if a process has ended meanwhile.
        try write(40, parent: 40, [40: "900 900 9"])
        let use = try #require(ProcessorUse.ofDescendants(of: 10, root: root))
        #expect(use == Self.use([11: (1, 2), 12: (4, 5), 20: (7, 8)]))
        #expect(ProcessorUse.ofDescendants(of: 30, root: root) == nil)
        #expect(ProcessorUse.ofDescendants(of: 10, root: root + "/none") == nil)
    }

    @Test func noMoreThreadsAreReadThanTheLimit() throws {
        let root = NSTemporaryDirectory() + "use-\(UInt64.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for thread in 0..<ProcessorUse.mostThreads + 10 {
            let directory = "\(root)/5/task/\(thread)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try "1 1 1".write(toFile: "\(directory)/schedstat", atomically: false, encoding: .utf8)
        }
        try "5 (x) S 1".write(toFile: "\(root)/5/stat", atomically: false, encoding: .utf8)
        #expect(ProcessorUse.ofDescendants(of: 1, root: root)?.threads.count == ProcessorUse.mostThreads)
    }

    @Test(.enabled(if: access("/proc/self/schedstat", F_OK) == 0))
    func thisMachineCounts() throws {
        // This process is a descendant of its parent.
        let use = try #require(ProcessorUse.ofDescendants(of: getppid()))
        #expect(use.threads[getpid()] != nil)
    }

    // MARK: - The page

    private static func loading(_ ready: PageReadiness) -> PageMachine {
        var machine = PageMachine()
        let job = PageJob(
            address: "https://a.example/", target: "rtmp://127.0.0.1/publish/k", width: 1280, height: 720,
            frameRate: 30, ready: ready, readyLimit: 30)
        _ = machine.publish(job, now: 0) + machine.started(now: 0) + machine.loaded(now: 0)
        return machine
    }

    @Test(
        "a page has its time to be ready, without that in which it waited",
        arguments: [PageReadiness.console, .painted])
    func readiness(_ ready: PageReadiness) {
        var machine = Self.loading(ready)
        for time in 1...99 {
            #expect(machine.asksForProcessors(now: Int64(time) * Self.second))
            machine.lacked(Self.second * 7 / 10)
            #expect(machine.tick(now: Int64(time) * Self.second) == [], "after \(time) s")
        }
        let slow = machine.tick(now: 101 * Self.second)
        #expect(!slow.isEmpty && !machine.isOnAir)
        // A page that was not kept waiting ends as usual.
        var quick = Self.loading(ready)
        #expect(!quick.tick(now: 30 * Self.second).isEmpty)
    }

    @Test func theStartOfABrowserHasItsTimeToo() {
        var machine = PageMachine()
        _ = machine.publish(PageJob(address: "a", target: "t", width: 640, height: 360, frameRate: 20), now: 0)
        #expect(machine.asksForProcessors(now: 0))
        machine.lacked(40 * Self.second)
        #expect(machine.tick(now: 60 * Self.second - 1) == [] && machine.tick(now: 60 * Self.second).contains(.stop))
        #expect(!machine.asksForProcessors(now: 60 * Self.second), "nothing runs now")
        machine.lacked(40 * Self.second)
        #expect(machine.tick(now: 61 * Self.second) != [], "a pause is not longer for it")
        var warm = PageMachine()
        _ = warm.prepare(PageJob(address: "", target: "", width: 640, height: 360, frameRate: 20), now: 0)
        warm.lacked(40 * Self.second)
        #expect(warm.tick(now: 59 * Self.second) == [] && warm.tick(now: 60 * Self.second) == [.finish])
    }

    @Test("a page on air that gets no processor is hidden as soon as one that hangs, and not ended")
    func onAir() {
        var machine = Self.loading(.console)
        _ = machine.wrote("START", now: 0)
        machine.uplinkBegan()
        let limits = PageMachine.Limits()
        let asked = limits.probe
        #expect(!machine.asksForProcessors(now: asked))
        machine.lacked(Self.second)
        #expect(machine.tick(now: asked) == [.probe], "nothing was asked before")
        #expect(!machine.asksForProcessors(now: asked) && machine.asksForProcessors(now: asked + limits.suspicion))
        machine.lacked(3 * Self.second)
        #expect(machine.tick(now: asked + limits.patience) == [.hide])
        #expect(machine.tick(now: asked + 5 * Self.second - 1) == [])
        var answering = machine
        #expect(machine.tick(now: asked + 5 * Self.second) == [.hide, .crash])
        machine.lacked(Self.second)
        #expect(machine.tick(now: asked + 7 * Self.second - 1) == [], "its process may take longer to end, too")
        #expect(machine.tick(now: asked + 7 * Self.second).contains(.stop))
        // A shortage before an answer does not count for the next probe.
        #expect(answering.answered() == [.show])
        let again = asked + 6 * Self.second
        #expect(answering.tick(now: again) == [.probe])
        #expect(answering.tick(now: again + limits.answer).contains(.crash))
    }
}
