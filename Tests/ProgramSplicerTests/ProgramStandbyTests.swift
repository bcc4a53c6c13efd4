import EncodedMedia
import Testing

@testable import ProgramSplicer

@Suite struct ProgramStandbyTests {
    private let video = CodecConfiguration(track: .video, bytes: [1])
    private let audio = CodecConfiguration(track: .audio, bytes: [2])

    private func frame(_ track: Track, _ time: Int64, isIDR: Bool = false, bytes: Int = 4) -> Splicer.Action {
        .emit(
            EncodedFrame(
                track: track, pts: .milliseconds(time), dts: .milliseconds(time), isIDR: isIDR,
                payload: [UInt8](repeating: 0, count: bytes)))
    }

    private func take(_ standby: inout ProgramStandby, _ actions: [Splicer.Action], at time: Int64 = 0)
        -> [ProgramStandby.Verdict]
    {
        actions.map { standby.take($0, tracks: .all, now: .milliseconds(time)) }
    }

    @Test func aProgramStopsBeforeItsNextKeyframeAndGoesOnWithIt() {
        var standby = ProgramStandby()
        #expect(
            take(&standby, [.configure(video), .configure(audio), frame(.video, 0, isIDR: true)]) == [
                .send, .send, .send,
            ])
        #expect(standby.begin(isOnAir: true, now: .zero) == false)
        #expect(standby.begin(isOnAir: true, now: .zero) == false)
        #expect(take(&standby, [frame(.video, 40), frame(.audio, 50)]) == [.send, .send])
        let shift = Splicer.Action.shift("a", by: .zero)
        #expect(take(&standby, [frame(.video, 80, isIDR: true), frame(.audio, 90), shift]) == [.stop, .keep, .send])
        #expect(standby.isSilent && standby.firstPicture == .milliseconds(80))
        // Frames before the next keyframe are no longer of use.
        _ = take(&standby, [frame(.video, 120, isIDR: true), frame(.video, 160)])
        #expect(
            standby.leave() == [
                .configure(video), .configure(audio), frame(.video, 120, isIDR: true), frame(.video, 160),
            ])
        #expect(standby.phase == .sending && standby.leave() == [])
    }

    @Test func aProgramWithoutKeyframesStopsAtTheLimit() {
        var standby = ProgramStandby()
        _ = standby.begin(isOnAir: true, now: .zero)
        let limit = Int64(ProgramStandby.patience.inMilliseconds)
        #expect(take(&standby, [frame(.video, 1)], at: limit - 1) == [.send])
        #expect(standby.advance(to: .milliseconds(limit - 1)) == false)
        var other = standby
        #expect(take(&other, [frame(.audio, 2)], at: limit) == [.stop])
        #expect(standby.advance(to: .milliseconds(limit)) && standby.isSilent)
        #expect(standby.advance(to: .milliseconds(limit)) == false)
    }

    @Test func aProgramOfSoundAloneStopsAtAnyFrame() {
        var standby = ProgramStandby()
        _ = standby.take(.configure(audio), tracks: .audio, now: .zero)
        _ = standby.begin(isOnAir: true, now: .zero)
        #expect(standby.take(frame(.audio, 1), tracks: .audio, now: .zero) == .stop)
        #expect(standby.leave() == [.configure(audio)] && standby.phase == .sending)
    }

    @Test func aRelayThatWaitsBeginsWithAKeyframe() {
        var standby = ProgramStandby()
        #expect(standby.begin(isOnAir: false, now: .zero) == true)
        #expect(standby.begin(isOnAir: false, now: .zero) == true)
        #expect(take(&standby, [.configure(video), frame(.audio, 0), frame(.video, 0)]) == [.keep, .keep, .keep])
        #expect(standby.firstPicture == nil)
        // An old group is not shown again.
        _ = take(&standby, [frame(.video, 40, isIDR: true)])
        #expect(standby.leave(keepsGroup: false) == [.configure(video)] && standby.phase == .starting)
        #expect(take(&standby, [frame(.video, 80), frame(.audio, 80)]) == [.keep, .send])
        #expect(standby.leave() == [] && standby.phase == .starting)
        #expect(take(&standby, [frame(.video, 120, isIDR: true), frame(.video, 160)]) == [.send, .send])
        #expect(standby.phase == .sending)
    }

    @Test func aStandbyThatIsCalledOffInTimeStopsNothing() {
        var standby = ProgramStandby()
        _ = standby.begin(isOnAir: true, now: .zero)
        #expect(standby.leave() == [] && standby.phase == .sending)
        #expect(take(&standby, [frame(.video, 0, isIDR: true)]) == [.send])
    }

    @Test func whatIsKeptIsBounded() {
        var standby = ProgramStandby()
        _ = standby.begin(isOnAir: false, now: .zero)
        _ = take(&standby, [.configure(video), frame(.video, 0, isIDR: true)])
        for time in 1..<40 { _ = take(&standby, [frame(.video, Int64(time), bytes: 1 << 20)]) }
        #expect(standby.firstPicture == nil)
        _ = take(&standby, [frame(.video, 100, isIDR: true)])
        #expect(standby.leave().count == 2)
    }
}
