import MediaFormats
import Testing

@testable import EncodedMedia
@testable import ProgramRelay

@Suite struct ConsumerMachineTests {
    @Test func itStartsAtOnceAndRestartsLaterEachTime() {
        var machine = ConsumerMachine(now: .seconds(1))
        #expect(machine.advance(to: .seconds(1), taken: 0, isWaiting: false) == .launch)
        var now = MediaTime.seconds(2)
        for delay in [0.5, 1, 2, 4, 5, 5, 5, 5] {
            machine.ended("exit code 1", isFinal: false, at: now)
            #expect(machine.state == .waiting(until: now + .seconds(delay)))
            #expect(machine.advance(to: now + .seconds(delay) - .milliseconds(1), taken: 0, isWaiting: true) == nil)
            now += .seconds(delay)
            #expect(machine.advance(to: now, taken: 0, isWaiting: true) == .launch)
            #expect(machine.lastError == "exit code 1")
            machine.recovered()
            #expect(machine.lastError == nil)
        }
    }

    @Test func oneThatRanForLongIsRestartedAtOnceAgain() {
        var machine = ConsumerMachine(now: .zero)
        _ = machine.advance(to: .zero, taken: 0, isWaiting: false)
        for _ in 0..<5 {
            machine.ended("signal 11", isFinal: false, at: .zero)
            _ = machine.advance(to: .seconds(100), taken: 0, isWaiting: false)
        }
        machine.ended("signal 11", isFinal: false, at: .seconds(111))
        #expect(machine.state == .waiting(until: .seconds(111.5)))
    }

    /// However often a process is killed, the frames that wait for it are a group of pictures and those of the longest
    /// delay, and fit the queue.
    @Test(arguments: [0, 4_000])
    func whatIsSentMeanwhileWaitsHoweverOftenItIsKilled(life: Int) {
        var machine = ConsumerMachine(now: .zero)
        var queue = OutputQueue(limits: .ofConsumers)
        var begun: Int?
        var seen: Set<UInt32> = []
        var longestAbsence = 0
        var goneAt = 0
        let tags = ConsumerBench.tags(groups: 60)
        for tag in tags {
            queue.append(OutputTag(tag))
            let now = Int(tag.timestamp)
            switch machine.advance(to: .milliseconds(Int64(now)), taken: 0, isWaiting: false) {
            case .launch:
                begun = now
                longestAbsence = max(longestAbsence, now - goneAt)
            default: break
            }
            guard let start = begun else { continue }
            for tag in queue.take(.max) where tag.isFrame { seen.insert(tag.timestamp) }
            guard now - start >= life else { continue }
            machine.ended("signal 9", isFinal: false, at: .milliseconds(Int64(now)))
            queue.restart()
            (begun, goneAt) = (nil, now)
        }
        #expect(queue.droppedFrames == 0)
        #expect(longestAbsence >= 5_000 && longestAbsence <= 5_100)
        for tag in queue.take(.max) where tag.isFrame { seen.insert(tag.timestamp) }
        #expect(seen == Set(tags.map(\.timestamp)))
        let policy = machine.policy
        #expect(Double(OutputQueue.Limits.ofConsumers.milliseconds) >= 1000 * (policy.patience + policy.longestDelay))
    }

    @Test func oneThatSaysThatNothingHelpsIsLeftAlone() {
        var machine = ConsumerMachine(now: .zero)
        _ = machine.advance(to: .zero, taken: 0, isWaiting: false)
        machine.ended("disk full", isFinal: true, at: .seconds(1))
        #expect(machine.state == .finished && machine.lastError == "disk full")
        #expect(machine.advance(to: .seconds(1000), taken: 0, isWaiting: true) == nil)
    }

    @Test func oneThatTakesNothingOfWhatWaitsIsKilled() {
        var machine = ConsumerMachine(policy: .init(patience: 15), now: .zero)
        _ = machine.advance(to: .zero, taken: 0, isWaiting: false)
        // The queue is empty: the process may be idle for ever.
        #expect(machine.advance(to: .seconds(100), taken: 10, isWaiting: false) == nil)
        #expect(machine.advance(to: .seconds(114), taken: 10, isWaiting: true) == nil)
        // The process makes progress, however slowly.
        #expect(machine.advance(to: .seconds(115), taken: 11, isWaiting: true) == nil)
        #expect(machine.advance(to: .seconds(130), taken: 11, isWaiting: true) == nil)
        #expect(machine.advance(to: .seconds(131), taken: 11, isWaiting: true) == .kill)
        #expect(machine.advance(to: .seconds(132), taken: 11, isWaiting: true) == nil)
        machine.ended("signal 9", isFinal: false, at: .seconds(133))
        #expect(machine.lastError == "it accepted no data for 15 s and was killed")
    }
}
