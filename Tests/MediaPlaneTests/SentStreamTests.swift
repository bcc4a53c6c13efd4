import EncodedMedia
import MediaFormats
import Testing

@testable import WebRTCGateway

@Suite struct SentStreamTests {
    private static let millisecond: Int64 = 1_000_000
    /// Profile, constraints and level of a record without parameter sets that can be read.
    private static let record: [UInt8] = [
        1, 0x42, 0xE0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xE0, 0x1F, 1, 0, 2, 0x68, 0xCE,
    ]

    private static func tag(_ tag: FLVTag) -> OriginClient.Tag {
        OriginClient.Tag(kind: tag.kind, timestamp: tag.timestamp, body: tag.body)
    }

    private static let header = tag(
        FLVTag(CodecConfiguration(track: .video, bytes: record), at: .zero, origin: .zero))

    /// - Parameter header: First byte of the slice.
    private static func picture(
        _ milliseconds: Int, _ header: UInt8 = 0x41, shownAt: Int? = nil, size: Int = 3
    ) -> OriginClient.Tag {
        var payload: [UInt8] = []
        payload.appendBigEndian(size + 1, bytes: 4)
        payload += [header] + [UInt8](repeating: 7, count: size)
        return tag(
            FLVTag(
                EncodedFrame(
                    track: .video, pts: .milliseconds(shownAt ?? milliseconds), dts: .milliseconds(milliseconds),
                    isIDR: header & 31 == 5, payload: payload), origin: .zero))
    }

    private static func sound(_ milliseconds: Int) -> OriginClient.Tag {
        tag(
            FLVTag(
                EncodedFrame(
                    track: .audio, pts: .milliseconds(milliseconds), dts: .milliseconds(milliseconds), payload: [1, 2]),
                origin: .zero))
    }

    private static func pictures(_ outputs: [SentStream.Output]) -> [WebRTCPicture] {
        outputs.compactMap { if case .picture(let picture) = $0 { picture } else { nil } }
    }

    /// Returns a stream whose past has arrived, up to an IDR at `time` ms.
    private static func stream(at time: Int = 5000) throws -> SentStream {
        var stream = SentStream()
        stream.begin()
        #expect(!stream.isLive(now: .max))
        #expect(try stream.take(header, now: 0) == [])
        #expect(try stream.take(picture(time, 0x65), now: 0) == [], "it is past")
        #expect(stream.isLive(now: SentStream.settling) && stream.profile == .constrainedBaseline)
        return stream
    }

    @Test func anIDRHasItsParameterSets() throws {
        let stream = try Self.stream()
        let start: [UInt8] = [0, 0, 0, 1]
        #expect(
            stream.group.map(\.bytes) == [
                start + [0x67, 0x42, 0xE0, 0x1F] + start + [0x68, 0xCE] + start + [0x65, 7, 7, 7]
            ])
    }

    @Test func whatIsLiveIsGivenOutWithTheStreamsSteps() throws {
        var stream = try Self.stream()
        var times: [MediaTime] = []
        for index in 1...10 {
            let outputs = try stream.take(
                Self.picture(5000 + 33 * index), now: (200 + 33 * Int64(index)) * Self.millisecond)
            times += Self.pictures(outputs).map(\.time)
        }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(33) } && times.count == 10)
        guard case .sound(.frame(let frame)) = try stream.take(Self.sound(5340), now: 600 * Self.millisecond).first
        else {
            Issue.record("no sound")
            return
        }
        #expect(frame.pts - times[9] == .milliseconds(10), "pictures and sound share a timeline")
    }

    @Test func whoJoinsGetsTheGroupBetweenTwoPictures() throws {
        var stream = try Self.stream()
        for index in 1...59 { _ = try stream.take(Self.picture(5000 + 33 * index), now: Self.millisecond) }
        let joining = stream.groupForJoining()
        #expect(joining.count == 60 && joining[0].isIDR && joining.map(\.bytes) == stream.group.map(\.bytes))
        #expect(zip(joining, joining.dropFirst()).allSatisfy { $0.time < $1.time })
        let edge = try #require(stream.group.last?.time)
        #expect(joining[0].time > edge && joining[59].time <= edge + .milliseconds(8))
        _ = try stream.take(Self.picture(7000, 0x65), now: Self.millisecond)
        #expect(stream.group.count == 1)
    }

    @Test(arguments: [(PictureGroup.most.pictures, 3), (90, PictureGroup.most.bytes / 80)])
    func theGroupIsLimited(count: Int, size: Int) throws {
        var stream = try Self.stream()
        for index in 1...count { _ = try stream.take(Self.picture(5000 + 33 * index, size: size), now: 0) }
        #expect(stream.group.isEmpty && stream.groupForJoining() == [])
        _ = try stream.take(Self.picture(5000 + 33 * count + 33, 0x65), now: 0)
        #expect(stream.group.count == 1)
    }

    @Test func picturesThatAreShownEarlierAndThatNobodyNeedsAreLeftOut() throws {
        var stream = try Self.stream()
        let now = 200 * Self.millisecond
        var kept: [WebRTCPicture] = []
        // P, a referenced B, an unreferenced B, and an unreferenced P, in decoding order.
        for (dts, header, pts) in [(33, 0x41, 165), (66, 0x41, 99), (99, 0x01, 66), (132, 0x01, 200)]
            as [(Int, UInt8, Int)]
        {
            kept += Self.pictures(try stream.take(Self.picture(5000 + dts, header, shownAt: 5000 + pts), now: now))
        }
        #expect(kept.map { $0.bytes[4] } == [0x41, 0x41, 0x01])
        #expect(zip(kept, kept.dropFirst()).allSatisfy { $0.time < $1.time })
    }

    /// The stream returns with new times, after two seconds.
    @Test func timesGoOnThroughABreak() throws {
        var stream = try Self.stream()
        let before = try #require(
            Self.pictures(try stream.take(Self.picture(5033), now: 200 * Self.millisecond)).first?.time)
        stream.begin()
        let now = 2200 * Self.millisecond
        #expect(try stream.take(Self.header, now: now) == [])
        #expect(try stream.take(Self.picture(70, 0x65), now: now) == [] && stream.group.count == 1)
        let after = Self.pictures(try stream.take(Self.picture(170), now: now + 100 * Self.millisecond))
        #expect(after.first.map { $0.time - before } == .milliseconds(2100))
    }

    @Test func aJumpOfTheTimesIsNone() throws {
        var stream = try Self.stream(at: 50_000)
        let now = 200 * Self.millisecond
        let first = try #require(Self.pictures(try stream.take(Self.picture(50_033), now: now)).first?.time)
        for (index, time) in [1000, 900_000, 2000].enumerated() {
            let next = now + 40 * Self.millisecond * Int64(index + 1)
            let picture = Self.pictures(try stream.take(Self.picture(time), now: next)).first
            #expect(picture.map { ($0.time - first).inMilliseconds } == 40 * Double(index + 1))
        }
    }

    @Test func whatCannotBeWatchedIsNamed() throws {
        var stream = SentStream()
        stream.begin()
        let failure = SentStream.Failure(words: "the pictures are H.265: viewers over WebRTC can be sent H.264 only")
        #expect(throws: failure) {
            try stream.take(.init(kind: .video, timestamp: 0, body: [0x1C, 0, 0, 0, 0, 1]), now: 0)
        }
        // Sound other than AAC is left out.
        #expect(try stream.take(.init(kind: .audio, timestamp: 0, body: [0x2F, 1, 2]), now: 0) == [])
        #expect(try stream.take(.init(kind: .video, timestamp: 0, body: []), now: 0) == [])
    }
}
