import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay
@testable import ProgramSplicer
@testable import RTMP

/// Reports about a source for operators, and their timing.
@Suite struct PulledSourceTests {
    private final class NoPull: SourcePull {
        let takesKeyframeRequests: Bool
        let requests = Mutex(0)

        init(takesKeyframeRequests: Bool = false) { self.takesKeyframeRequests = takesKeyframeRequests }

        func requestKeyframe() { requests.withLock { $0 += 1 } }
        func stop() {}
        func close() async {}
    }

    private func source(connected time: MediaTime = .zero) -> PulledSource {
        let source = PulledSource(
            planned: PlannedSource(id: "bob/camera", url: "rtmp://127.0.0.1/live/bob", audio: true, video: true),
            now: .zero)
        source.connected(NoPull(), now: time)
        return source
    }

    private static let refused = PullEnd(.refused, "refused")
    private static let sound = MediaItem.frame(EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [0]))

    @Test func whoDoesNotConnectIsToldOfOnce() {
        let source = source()
        source.ended(Self.refused, now: .milliseconds(50))
        #expect(source.news(now: .milliseconds(50))?.message == "bob/camera: refused")
        #expect(source.status(now: .milliseconds(60)).state == .recovering)
        for attempt in stride(from: 1.0, to: 20, by: 1) {
            source.connected(NoPull(), now: .seconds(attempt))
            source.ended(Self.refused, now: .seconds(attempt))
            #expect(source.news(now: .seconds(attempt)) == nil)
            #expect(source.status(now: .seconds(attempt)).error == "refused")
        }
    }

    @Test func aServerThatSendsNothingIsToldOfBeforeItEnds() {
        let source = source()
        #expect(source.status(now: .seconds(5)).error == nil)
        #expect(source.status(now: .seconds(7)).error?.contains("is this stream being published?") == true)
        source.ended(.ended, now: .seconds(15))
        #expect(source.status(now: .seconds(15)).error?.contains("is this stream being published?") == true)
    }

    @Test func absenceBeginsAfterAWhileAndEndsWithTheFirstFrame() throws {
        let source = source()
        #expect(!source.isAbsent(now: .seconds(2)))
        #expect(source.isAbsent(now: .seconds(3)))
        for item in try source.take([Self.sound], now: .seconds(4)) {
            _ = source.timeline.accept(
                .configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90])), arrival: .seconds(4),
                as: .init(isOnAir: false))
            _ = source.timeline.accept(item, arrival: .seconds(4), as: .init(isOnAir: false))
        }
        #expect(!source.isAbsent(now: .seconds(4)))
        // From then on, a silent source loses its pane after the time set for the pane.
        #expect(!source.isAbsent(now: .seconds(34)))
        #expect(source.isAbsent(now: .seconds(35)))
        source.dropAfter = .seconds(60)
        #expect(!source.isAbsent(now: .seconds(64)))
        #expect(source.isAbsent(now: .seconds(65)))
    }

    @Test func anUnsupportedCodecIsNamedAndLeftOutUntilItHasGoneForGood() throws {
        let source = source()
        source.ended(PullEnd(.unsupportedCodec(.audio, codec: "2")), now: .seconds(1))
        #expect(source.status(now: .seconds(1)).state == .failed)
        #expect(source.news(now: .seconds(1))?.message.contains("MP3") == true)
        #expect(source.isAbsent(now: .seconds(1)))
        #expect(!source.isDue(now: .seconds(10)) && source.isDue(now: .seconds(12)))
        source.connected(NoPull(), now: .seconds(12))
        // The other track may still be the previous stream's.
        _ = try source.take([Self.sound], now: .seconds(12))
        #expect(source.status(now: .seconds(12)).state == .failed)
        _ = try source.take([Self.sound], now: .seconds(14))
        #expect(source.status(now: .seconds(14)).error == nil)
    }

    /// Distances between pictures, and the time after the last one at which the source is shown as stalled.
    @Test(arguments: [(40, 701), (200, 701), (500, 701), (600, 801), (1500, 1701)])
    func aStallIsShownWithinASecondAndSlowSourcesAreNotStalled(interval: Int64, noticed: Int64) throws {
        let source = source()
        var now = MediaTime.seconds(1)
        _ = source.timeline.accept(
            .configuration(CodecConfiguration(.h264, bytes: [])), arrival: now, as: .init(isOnAir: false))
        for number in 0..<40 {
            now = .seconds(1) + .milliseconds(interval * Int64(number))
            if number > 8 {
                #expect(source.state(now: now - .milliseconds(1)) == .live, "\(number)")
                // A network delays one picture by a fifth of a second, which no later picture makes up for.
                if number == 20, interval <= 500 { #expect(source.state(now: now + .milliseconds(200)) == .live) }
            }
            let frame = EncodedFrame(track: .video, pts: now, dts: now, isIDR: true, payload: [0])
            _ = source.timeline.accept(.frame(frame), arrival: now, as: .init(isOnAir: false))
            source.noteArrival(of: .video, now: now)
        }
        #expect(source.state(now: now + .milliseconds(noticed - 1)) == .live)
        #expect(source.state(now: now + .milliseconds(noticed)) == .stalled)
        #expect(source.silentAt(now: now) == now + .milliseconds(noticed))
    }

    /// A mix takes over, and shows the card, without waiting for the silence of a stall.
    @Test func aPauseLastsUntilTheNextPicture() {
        let source = source()
        var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        let usual = metadata.body
        metadata.isPaused = true
        _ = source.timeline.accept(
            .configuration(CodecConfiguration(.h264, bytes: [])), arrival: .seconds(1), as: .init(isOnAir: false))
        source.noteArrival(of: .video, now: .seconds(1))
        source.noteMetadata(usual)
        #expect(!source.isCardShown && !source.fact(now: .seconds(1)).isSilent)
        source.noteMetadata(metadata.body)
        source.noteMetadata(usual)
        source.noteArrival(of: .audio, now: .seconds(1))
        let fact = source.fact(now: .seconds(1))
        #expect(source.isCardShown && fact.isSilent && fact.isSuspect && !fact.isSteady)
        #expect(Set(source.stalledTracks(now: .seconds(1))) == [.video, .audio])
        source.noteArrival(of: .video, now: .milliseconds(1040))
        #expect(!source.isCardShown && !source.fact(now: .milliseconds(1040)).isSilent)
        #expect(source.stalledTracks(now: .milliseconds(1040)).isEmpty)
    }

    @Test func aPauseInAProgramOfSoundAloneLastsUntilTheNextSound() {
        let source = source()
        source.planned.tracks = .audio
        var notice = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        notice.isPaused = true
        source.noteMetadata(notice.body)
        #expect(source.isCardShown)
        source.noteArrival(of: .audio, now: .seconds(1))
        #expect(!source.isCardShown && source.stalledTracks(now: .seconds(1)).isEmpty)
        source.noteMetadata(notice.body)
        source.connected(NoPull(), now: .seconds(2))
        #expect(!source.isCardShown, "the notice is repeated at the start of a connection")
    }

    /// After failures of both addresses, one accepts the connection and sends nothing.
    @Test func anAddressThatSendsNothingIsLeftEvenAfterOtherFailures() {
        let source = PulledSource(
            planned: PlannedSource(
                id: "bob/camera", url: "rtmp://127.0.0.1/live/bob", audio: true, video: true,
                backup: "rtmp://127.0.0.1/live/spare"), now: .zero)
        for attempt in [1.0, 2.0] {
            source.connected(NoPull(), now: .seconds(attempt))
            source.ended(Self.refused, now: .seconds(attempt))
        }
        #expect(!source.connectsAtOnce, "the next attempt waits")
        source.connected(NoPull(), now: .seconds(3))
        #expect(source.failure(now: .seconds(6)) == nil)
        #expect(source.failure(now: .seconds(8)) == "it sends nothing")
        #expect(source.connectsAtOnce)
    }

    @Test func whoHasTheCameraOffIsLiveWhileHeardAndDecodableAtOnce() throws {
        let source = source()
        #expect(!source.fact(now: .seconds(1)).isDecodable)
        source.planned.video = false
        for (index, item) in try source.take([Self.sound], now: .seconds(1)).enumerated() {
            if index == 0 {
                _ = source.timeline.accept(
                    .configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90])), arrival: .seconds(1),
                    as: .init(isOnAir: false))
            }
            _ = source.timeline.accept(item, arrival: .seconds(1), as: .init(isOnAir: false))
        }
        #expect(source.fact(now: .seconds(1)).isDecodable && !source.fact(now: .seconds(1)).hasVideo)
        #expect(source.status(now: .seconds(1)).state == .live && source.status(now: .seconds(1)).pictureSize == nil)
        #expect(source.status(now: .seconds(3)).state == .stalled)
        source.planned.video = true
        #expect(!source.fact(now: .seconds(1)).isDecodable, "servers send sound before the first keyframe")
    }

    /// A connection that floods ends, and is made again only after a while, even if earlier ones worked.
    @Test func whatNoLiveStreamSendsEndsTheConnection() throws {
        let source = source()
        source.connected(NoPull(), now: .zero)
        let flood = [MediaItem](repeating: Self.sound, count: 5_000)
        #expect(throws: SourceGate.Excess.items(perSecond: 2_000)) {
            for _ in 0..<5 { _ = try source.take(flood, now: .zero) }
        }
        source.ended(PullEnd(.excessive, "it sends more"), now: .zero)
        #expect(source.status(now: .zero).state == .recovering && source.status(now: .zero).error == "it sends more")
        #expect(!source.isDue(now: .seconds(9)) && source.isDue(now: .seconds(10)))
        _ = source.disconnect()
        // Its allowance has grown back by then.
        source.connected(NoPull(), now: .seconds(10))
        #expect(try source.take(flood, now: .seconds(10)).count == flood.count)
    }

    /// A server that closes its connections itself is connected again at once.
    @Test func aNewConnectionBringsNoNewAllowance() throws {
        let source = PulledSource(
            planned: PlannedSource(
                id: "bob/camera", url: "rtmp://127.0.0.1/live/bob", audio: true, video: true,
                backup: "rtmp://127.0.0.1/live/spare"), now: .zero)
        let flood = [MediaItem](repeating: Self.sound, count: 5_000)
        source.connected(NoPull(), now: .zero)
        for _ in 0..<4 { _ = try source.take(flood, now: .zero) }
        source.ended(.ended, now: .zero)
        _ = source.disconnect()
        source.connected(NoPull(), now: .milliseconds(250))
        #expect(throws: SourceGate.Excess.items(perSecond: 2_000)) {
            _ = try source.take(flood, now: .milliseconds(250))
        }
        // The backup has its own allowance, and a probe of the first address has none.
        _ = source.disconnect()
        source.chooseOther(now: .seconds(1))
        source.connected(NoPull(), now: .seconds(1))
        #expect(try source.take(flood, now: .seconds(1)).count == flood.count)
        #expect(throws: SourceGate.Excess.items(perSecond: 2_000)) {
            try source.check(probed: flood, now: .seconds(1))
        }
    }

    @Test func aMutedSourceIsSilentInWhatTheProgramGetsAndNotInWhatIsKept() throws {
        let source = source()
        let sound = EncodedFrame(track: .audio, pts: .seconds(2), dts: .seconds(2), payload: [1, 2, 3])
        let picture = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [0])
        #expect(source.audible(sound) == sound)
        source.planned.muted = true
        #expect(source.audible(sound) == nil, "nothing is known of its format yet")
        _ = source.timeline.accept(
            .configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90])), arrival: .zero,
            as: .init(isOnAir: false))
        _ = source.timeline.accept(.frame(sound), arrival: .zero, as: .init(isOnAir: false))
        let format = try #require(source.timeline.audioFormat)
        let silent = try #require(source.audible(sound))
        #expect(silent.payload == SilentAAC.frame(of: format) && silent.pts == sound.pts && silent.dts == sound.dts)
        #expect(source.audible(picture) == picture)
        #expect(source.timeline.currentGOP.map(\.payload) == [[1, 2, 3]])
    }

    @Test func itemsOfTracksThatAreNotPlannedAreLeftOut() throws {
        let source = source()
        let picture = MediaItem.frame(
            EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [0]))
        #expect(try source.take([Self.sound, picture, .discontinuity], now: .zero).count == 3)
        source.planned.tracks = .audio
        #expect(try source.take([Self.sound, picture, .discontinuity], now: .zero) == [Self.sound, .discontinuity])
        source.planned.tracks = .video
        #expect(try source.take([Self.sound, picture, .discontinuity], now: .zero) == [picture, .discontinuity])
    }

    /// Many servers begin in the middle of a group of pictures, whose keyframe the earlier connection has not brought.
    @Test func aConnectionThatFollowsAnotherBeginsWithAKeyframe() throws {
        let source = source()
        let header = MediaItem.configuration(CodecConfiguration(.h264, bytes: []))
        // A recovery point in front of a slice (ITU-T H.264 §D.2.8).
        let recovery: [UInt8] = [0, 0, 0, 5, 6, 6, 1, 0x80, 0x80, 0, 0, 0, 2, 0x41, 0x98]
        func picture(isIDR: Bool = false, _ payload: [UInt8] = [0, 0, 0, 2, 0x41, 0x98]) -> MediaItem {
            .frame(EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: isIDR, payload: payload))
        }
        func taken(_ items: [MediaItem], at seconds: Double) throws -> [MediaItem] {
            let items = try source.take(items, now: .seconds(seconds))
            for item in items {
                _ = source.timeline.accept(item, arrival: .seconds(seconds), as: .init(isOnAir: false))
            }
            return items
        }
        func reconnect(at seconds: Double) {
            _ = source.disconnect()
            source.connected(NoPull(), now: .seconds(seconds))
        }
        // Nothing is known of the first one, and operators must learn that no keyframe comes.
        #expect(try taken([header, picture(), picture(isIDR: true), picture()], at: 1).count == 4)

        reconnect(at: 2)
        #expect(try taken([header, Self.sound, picture(), picture()], at: 2.1) == [header, Self.sound])
        #expect(source.keyframes.isHolding)
        #expect(try taken([picture(isIDR: true), picture()], at: 2.2).count == 2)
        #expect(!source.keyframes.isHolding)

        // An encoder with intra refresh sends no keyframe.
        reconnect(at: 3)
        #expect(try taken([header, picture(), picture(recovery), picture()], at: 3.1).count == 3)

        // One that sends no recovery points either is not waited for forever.
        reconnect(at: 4)
        #expect(try taken([header, picture()], at: 5) == [header])
        #expect(try taken([picture()], at: 14.9).isEmpty)
        #expect(try taken([picture()], at: 15).count == 1)

        // The stream from another address is a continuation, too.
        let moved = PulledSource(
            planned: PlannedSource(id: "bob/camera", url: "rtmp://127.0.0.1/live/other"), replacing: source,
            now: .seconds(16))
        moved.connected(NoPull(), now: .seconds(16))
        #expect(try moved.take([header, picture(), picture(isIDR: true)], now: .seconds(16)).count == 2)
    }

    /// A stream without sound is no dead one while its pictures are held back.
    @Test func picturesThatAreHeldBackCountAsMedia() throws {
        let source = PulledSource(
            planned: PlannedSource(
                id: "bob/camera", url: "rtmp://127.0.0.1/live/bob", audio: true, video: true,
                backup: "rtmp://127.0.0.1/live/spare"), now: .zero)
        source.connected(NoPull(), now: .zero)
        let header = MediaItem.configuration(CodecConfiguration(.h264, bytes: []))
        func picture(isIDR: Bool) -> MediaItem {
            .frame(EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: isIDR, payload: [0]))
        }
        for item in try source.take([header, picture(isIDR: true)], now: .seconds(1)) {
            _ = source.timeline.accept(item, arrival: .seconds(1), as: .init(isOnAir: false))
        }
        _ = source.disconnect()
        source.connected(NoPull(), now: .seconds(2))
        for half in 4...16 {
            let now = MediaTime.milliseconds(500 * half)
            #expect(try source.take([picture(isIDR: false)], now: now).isEmpty)
            #expect(source.failure(now: now) == nil, "\(now)")
        }
    }

    @Test func keyframesAreRequestedWhereTheTransportCanAndNotTooOften() {
        let source = source()
        let pull = NoPull(takesKeyframeRequests: true)
        #expect(!source.takesKeyframeRequests)
        source.connected(pull, now: .zero)
        #expect(source.takesKeyframeRequests)
        for milliseconds in stride(from: 0, to: 1000, by: 10) {
            source.requestKeyframe(now: .milliseconds(milliseconds))
        }
        #expect(pull.requests.withLock { $0 } == 2)
        // The caller learns that its request was too soon, and after which one.
        #expect(source.requestKeyframe(now: .milliseconds(700), pause: .milliseconds(350)) == .milliseconds(500))
        #expect(source.requestKeyframe(now: .milliseconds(850), pause: .milliseconds(350)) == nil)
        #expect(pull.requests.withLock { $0 } == 3)
        source.planned.video = false
        source.requestKeyframe(now: .seconds(9))
        #expect(pull.requests.withLock { $0 } == 3, "there is no picture to wait for")
        let mute = NoPull()
        source.planned.video = true
        source.connected(mute, now: .seconds(10))
        source.requestKeyframe(now: .seconds(10))
        #expect(mute.requests.withLock { $0 } == 0)
    }
}
