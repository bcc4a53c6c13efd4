import MediaSupport
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// Sources that are not an attack, but differ from a proper publisher.
@Suite struct OddSourceTests {
    private func picture(_ time: MediaTime, isIDR: Bool = false, payload: [UInt8] = [0, 0, 0, 2, 0x41, 1]) -> MediaItem
    {
        .frame(EncodedFrame(track: .video, pts: time, dts: time, isIDR: isIDR, payload: payload))
    }

    @Test("pictures whose timestamps stand still get times of their own", arguments: [false, true])
    func standingTimestamps(isOnAir: Bool) {
        var timeline = SourceTimeline()
        _ = timeline.accept(.configuration(HLSProgram.video(0)), arrival: .zero)
        var times: [MediaTime] = []
        for index in 0..<250 {
            let arrival = MediaTime.milliseconds(40 * index)
            let role = SourceClock.Role(isOnAir: isOnAir)
            for case .frame(let frame) in timeline.accept(
                picture(.milliseconds(7), isIDR: index % 50 == 0), arrival: arrival, as: role)
            {
                #expect((arrival - frame.pts).magnitude <= .milliseconds(100), "picture \(index)")
                times.append(frame.pts)
            }
        }
        #expect(times.count == 250 && Set(times).count > 80)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test("intra refresh is noticed by its recovery points, and is over with a keyframe")
    func intraRefresh() {
        var timeline = SourceTimeline()
        _ = timeline.accept(.configuration(HLSProgram.video(0)), arrival: .zero)
        // A recovery point (type 6) behind a message of user data (type 5).
        let recovery: [UInt8] = [0, 0, 0, 8, 6, 5, 1, 9, 6, 1, 0x80, 0x80, 0, 0, 0, 2, 0x41, 1]
        func accept(_ seconds: Double, isIDR: Bool = false, _ payload: [UInt8]) {
            _ = timeline.accept(
                picture(.seconds(seconds), isIDR: isIDR, payload: payload), arrival: .seconds(seconds))
        }
        accept(0, isIDR: true, [0, 0, 0, 2, 0x65, 1])
        for index in 1...20 { accept(Double(index) / 2, recovery) }
        #expect(!timeline.refreshesGradually && timeline.withoutKeyframe(at: .seconds(10)) == nil)
        accept(10.5, [0, 0, 0, 2, 0x41, 1])
        #expect(!timeline.refreshesGradually && timeline.withoutKeyframe(at: .seconds(10.5)) == .seconds(10.5))
        accept(11, recovery)
        #expect(timeline.refreshesGradually)
        accept(12, isIDR: true, [0, 0, 0, 2, 0x65, 1])
        #expect(!timeline.refreshesGradually && timeline.withoutKeyframe(at: .seconds(13)) == nil)
    }

    @Test("supplemental information that ends early has no recovery point")
    func brokenMessages() {
        for unit in [[6], [6, 6], [6, 0xFF, 0xFF, 0xFF], [6, 5, 0xFF, 0xFF, 6, 1, 0x80]] as [[UInt8]] {
            let frame = EncodedFrame(
                track: .video, pts: .zero, dts: .zero, payload: [0, 0, 0, UInt8(unit.count)] + unit)
            #expect(!frame.hasRecoveryPoint(lengthSize: 4, codec: .h264), "\(unit)")
        }
    }

    @Test("operators are told once that a keyframe is awaited, and again only for another wait")
    func keyframeWait() {
        var wait = KeyframeWait()
        var told: [String] = []
        for second in 0..<60 {
            let isWanted = second < 30 || second >= 35
            let news = wait.news(
                of: isWanted ? "host/camera" : nil, refreshesGradually: second > 35, now: .seconds(Double(second)))
            if let news { told.append("\(second): \(news)") }
        }
        #expect(told.count == 2)
        #expect(told.first?.hasPrefix("12: no keyframe of host/camera has come for 12 s") == true)
        #expect(told.last?.hasPrefix("47: host/camera sends no keyframes (intra refresh or open GOPs)") == true)
    }

    @Test("the groups of pictures of eight people may wait for a mixer, for a while")
    func replays() {
        var allowance = ReplayAllowance()
        for index in 0..<8 { allowance.add(16 << 20, at: .seconds(Double(index) / 10)) }
        #expect(allowance.bytes(at: .seconds(5)) == 128 << 20)
        #expect(allowance.bytes(at: .seconds(10.35)) == 64 << 20)
        #expect(allowance.bytes(at: .seconds(11)) == 0)
        allowance.add(1, at: .seconds(20))
        #expect(allowance.bytes(at: .seconds(20)) == 1)
    }
}
