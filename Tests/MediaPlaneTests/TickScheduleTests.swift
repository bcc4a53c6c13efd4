import EncodedMedia
import Testing

@testable import ProgramRelay

@Suite struct TickScheduleTests {
    @Test func deadlinesThatAreNearAreLookedAtOften() {
        var ticks = TickSchedule()
        #expect(ticks.next(now: .seconds(1), calmUntil: nil) == .seconds(1) + TickSchedule.near)
    }

    /// Packets come more often than ticks, and each may schedule the next one.
    @Test func aLookIsNotPutOffByWhatHappensBeforeIt() {
        var ticks = TickSchedule()
        let first = ticks.next(now: .zero, calmUntil: nil)
        for time in stride(from: 10, to: 50, by: 10) {
            #expect(ticks.next(now: .milliseconds(time), calmUntil: nil) == first)
        }
        ticks.reached()
        #expect(ticks.next(now: first, calmUntil: nil) == first + TickSchedule.near)
    }

    @Test func aCalmBypassIsLookedAtWhenSomethingIsDue() {
        var ticks = TickSchedule()
        #expect(ticks.next(now: .zero, calmUntil: .seconds(1)) == .seconds(1))
        // The source sends, so that its silence is due later.
        #expect(ticks.next(now: .milliseconds(500), calmUntil: .milliseconds(1_400)) == .milliseconds(1_400))
        // A participant joins.
        #expect(ticks.next(now: .milliseconds(600), calmUntil: nil) == .milliseconds(650))
    }

    @Test func aDeadlineInBetweenIsMetAndOneThatHasPassedIsNot() {
        var ticks = TickSchedule()
        #expect(
            ticks.next(now: .seconds(1), calmUntil: nil, deadlines: [.zero, .milliseconds(1_020)])
                == .milliseconds(1_020))
        ticks.reached()
        #expect(ticks.next(now: .seconds(2), calmUntil: nil, deadlines: [.zero, .seconds(9)]) == .milliseconds(2_050))
    }

    /// A packet wakes the loop anyway.
    @Test func aPacketShortlyBeforeACheckOfACalmBypassCausesIt() {
        var ticks = TickSchedule()
        #expect(!ticks.isDueWithPacket(at: .seconds(9)))
        _ = ticks.next(now: .zero, calmUntil: .seconds(1))
        let from = MediaTime.seconds(1) - TickSchedule.advance
        #expect(!ticks.isDueWithPacket(at: from - .milliseconds(1)))
        #expect(ticks.isDueWithPacket(at: from) && ticks.isDueWithPacket(at: .seconds(2)))
        ticks.reached()
        #expect(!ticks.isDueWithPacket(at: .seconds(2)), "once")
        // The check already sends the status that is due.
        #expect(TickSchedule.advance < TickSchedule.early)
    }

    @Test func packetsCauseNoChecksWhileDeadlinesAreNear() {
        var ticks = TickSchedule()
        _ = ticks.next(now: .zero, calmUntil: .seconds(1))
        let next = ticks.next(now: .milliseconds(990), calmUntil: nil)
        #expect(!ticks.isDueWithPacket(at: next))
    }
}
