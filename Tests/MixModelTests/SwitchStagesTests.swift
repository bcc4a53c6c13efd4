import EncodedMedia
import Foundation
import Testing

@testable import MixModel

@Suite struct SwitchStagesTests {
    @Test func stagesAreTimesAfterTheEvent() {
        let stages = SwitchStages(
            since: .seconds(5), plan: .milliseconds(5003), mixer: .milliseconds(5004), picture: .milliseconds(5090),
            held: MediaTime(nanoseconds: 5_100_500_000))
        #expect(stages.planMs == 3)
        #expect(stages.mixerMs == 4)
        #expect(stages.pictureMs == 90)
        #expect(stages.heldMs == 100.5)
    }

    @Test("a mixer that ran before the event costs the switch no time")
    func earlierStagesAreLeftOut() {
        let stages = SwitchStages(
            since: .seconds(5), plan: .seconds(5), mixer: .seconds(1), picture: .milliseconds(4999))
        #expect(stages.planMs == 0)
        #expect(stages.mixerMs == nil)
        #expect(stages.pictureMs == nil)
        #expect(stages.heldMs == nil)
    }

    @Test func recordsOfEarlierReleasesHaveNoStages() throws {
        let record = SwitchRecord(
            at: .seconds(1), from: .bypass, to: .mix, source: nil, cause: "c", latencyMs: 152, videoGapMs: 50,
            audioGapMs: nil, wallClock: 1)
        let data = try JSONEncoder().encode(record)
        #expect(!String(decoding: data, as: UTF8.self).contains("stages"))
        #expect(try JSONDecoder().decode(SwitchRecord.self, from: data) == record)
    }
}
