import MediaSupport
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// Publishers and mixers can neither stop a relay nor make it keep more than its limits allow.
@Suite struct HostileStreamTests {
    /// Each room has three streams.
    private static let rooms = TestLength.of(short: 40, long: 200)
    private static let ticks = 24
    private static let streams = TestLength.of(short: 20_000, long: 1_000_000)

    @Test("any streams, with any times, are taken by a relay and by all who get its program", arguments: 0..<8)
    func anyStreams(part: Int) throws {
        var random = SeededGenerator(announcedFor: "HostileStreamTests.anyStreams")
        random = SeededGenerator(seed: random.seed &+ UInt64(part))
        for _ in 0..<Self.rooms {
            var room = HostileRoom()
            var streams = [HostileStream(using: &random), HostileStream(using: &random)]
            var mixer = HostileMixer(using: &random)
            for index in streams.indices {
                room.receive(FLVTag.fileHeader + streams[index].beginning(), from: index)
            }
            room.receiveMixed(mixer.beginning())
            for _ in 0..<Self.ticks {
                switch Int.random(in: 0..<16, using: &random) {
                case 0...6: room.receive(streams[0].tags(), from: 0)
                case 7...9: room.receive(streams[1].tags(), from: 1)
                case 10...13: room.receiveMixed(mixer.reports(near: room.splicer.lastVideo ?? .zero))
                case 14:
                    let modes: [ProgramPlan.Mode] = [
                        .bypass("host/camera"), .bypass("guest/camera"), .mix(host: "host/camera"), .slate,
                    ]
                    let tracks: [SourceSelection.Tracks] = [.all, .all, .all, .audio, .video]
                    room.apply(
                        modes.randomElement(using: &random) ?? .slate,
                        tracks: tracks.randomElement(using: &random) ?? .all)
                default: room.pass(.milliseconds(Int.random(in: 0...500, using: &random)))
                }
                room.pass(.milliseconds(20))
            }
            for interval in room.intervals { try #require(.milliseconds(1)...(.seconds(10)) ~= interval) }
            room.finish()
        }
    }

    @Test("any stream, with any times, is put on a program's timeline")
    func anyStream() throws {
        var random = SeededGenerator(announcedFor: "HostileStreamTests.anyStream")
        for _ in 0..<Self.streams {
            var stream = HostileStream(using: &random)
            var reader = FLVReader()
            var timeline = SourceTimeline()
            var now = MediaTime.zero
            do {
                for item in try reader.push(FLVTag.fileHeader + stream.beginning() + stream.tags() + stream.tags()) {
                    now += .milliseconds(Int.random(in: 0...900, using: &random))
                    let isOnAir = Bool.random(using: &random)
                    _ = timeline.accept(item, arrival: now, as: .init(isOnAir: isOnAir, isCopied: isOnAir))
                }
            } catch {
                #expect(!error.description.isEmpty)
            }
            try #require(.milliseconds(1)...(.seconds(10)) ~= timeline.frameInterval)
        }
    }

    /// The bytes that once stopped a relay: RTMP clients pass on audio of two bytes, which is not a frame, but has a
    /// time.
    @Test("thousands of messages, each 0x7FFFFFFF ms later, do not leave the span of a stream")
    func farSteps() throws {
        for step: UInt32 in [0x7FFF_FFFF, 0x8000_0001] {
            var room = HostileRoom()
            var random = SeededGenerator(seed: 1)
            var stream = HostileStream(using: &random)
            room.receive(FLVTag.fileHeader + stream.beginning(), from: 1)
            var timestamp: UInt32 = 0
            room.receive(
                HostileStream.repeated(HostileStream.emptySound, step: step, count: 6_000, from: &timestamp), from: 1)
            room.receive(
                HostileStream.repeated([0xAF, 1, 0x21, 0x22], step: step, count: 1_500, from: &timestamp), from: 1)
            room.finish()
        }
    }

    @Test("a stream that leaves its span begins anew where its timestamps are")
    func spanOfAStream() throws {
        var reader = FLVReader()
        _ = try reader.push(FLVTag.fileHeader)
        var timestamp: UInt32 = 0
        let bytes = HostileStream.repeated([0xAF, 1, 0x21], step: 0x7FFF_FFFF, count: 1_100, from: &timestamp)
        let items = try reader.push(bytes)
        let times = items.compactMap { item in
            if case .frame(let frame) = item { frame.pts.roundedMilliseconds } else { nil }
        }
        #expect(times.count == 1_100)
        #expect(times.allSatisfy(FLVReader.span.contains))
        // Up to 2⁴⁰ in steps of nearly 2³¹.
        let jumps = zip(times, times.dropFirst()).filter { $1 < $0 }
        #expect(jumps.count == 2)
        #expect(items.count { $0 == .discontinuity } == 2)
        #expect(jumps.allSatisfy { $0.1 <= Int64(UInt32.max) && $0.0 > 1 << 39 })
        // The mapping code treats that as a jump.
        var clock = SourceClock()
        _ = clock.observe(
            .video, dts: .milliseconds(jumps[0].0), arrival: .seconds(1), as: .init(isOnAir: true, isCopied: true))
        let change = clock.observe(
            .video, dts: .milliseconds(jumps[0].1), arrival: .seconds(1.02), as: .init(isOnAir: true, isCopied: true))
        #expect(change == .mappedAnew)
    }

    @Test("a mixer may say any time", arguments: [Int64.min, .min + 1, -1, .max - 1, .max])
    func timesOfAMixer(nanoseconds: Int64) throws {
        let time = MediaTime(nanoseconds: nanoseconds)
        for other in [time, .zero, -time] {
            var room = HostileRoom()
            var random = SeededGenerator(seed: 2)
            var mixer = HostileMixer(using: &random)
            room.receiveMixed(mixer.beginning())
            room.apply(.slate, tracks: .all)
            for (pts, dts) in [(time, other), (other, time), (.zero, .zero), (time, time)] {
                for track in Track.allCases {
                    let frame = EncodedFrame(
                        track: track, pts: pts, dts: dts, isIDR: track == .video, payload: [0, 0, 0, 2, 0x65, 1])
                    room.receiveMixed(try MixerReport.frame(frame).wireBytes())
                    room.receiveMixed(try MixerReport.delays(["host/camera": time]).wireBytes())
                    room.pass(.milliseconds(20))
                }
            }
            room.finish()
        }
    }

    @Test("pictures whose times stand still, or run back, are no rate of frames")
    func intervalOfStandingTimes() throws {
        for step: Int in [0, -40, 100_000_000] {
            var timeline = SourceTimeline()
            _ = timeline.accept(.configuration(HLSProgram.video(0)), arrival: .zero, as: .init(isOnAir: false))
            for index in 0..<20 {
                let time = MediaTime.milliseconds(index * step)
                let frame = EncodedFrame(track: .video, pts: time, dts: time, isIDR: true, payload: [0, 0, 0, 1, 0x65])
                _ = timeline.accept(
                    .frame(frame), arrival: .milliseconds(index * 40), as: .init(isOnAir: true, isCopied: true))
                let rate = 1 / timeline.frameInterval.inSeconds
                #expect(rate.isFinite && rate > 0, "step \(step)")
            }
        }
    }
}
