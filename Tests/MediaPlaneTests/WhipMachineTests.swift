import EncodedMedia
import MediaFormats
import MixModel
import RTMP
import Testing

@testable import WebRTCGateway

struct WhipMachineTests {
    private static let second: Int64 = 1_000_000_000
    private static let publisher = WebRTCPublisher(
        offer: "o", target: "rtmp://127.0.0.1/publish/k", network: WebRTCNetwork(), silence: 3)

    /// Returns a publisher that has been live since 0.
    private static func live() -> WhipMachine {
        var machine = WhipMachine()
        #expect(machine.publish(publisher) == [.open(publisher)])
        #expect(machine.answered("a", now: 0) == [.report(.answered(answer: "a"))])
        #expect(machine.connection(.connected, now: 0) == [.report(.connected), .dial])
        return machine
    }

    @Test func aPublisherComesAndGoes() {
        var machine = Self.live()
        #expect(machine.isLive && machine.publish(Self.publisher).count == 1, "only one")
        #expect(machine.connection(.connected, now: 1) == [], "it is known")
        machine.uplinkBegan()
        #expect(
            machine.connection(.closed, now: 2) == [
                .report(.ended(reason: "the client closed the connection", cause: .other)), .finish,
            ])
        #expect(machine.isOver && machine.end("again") == [] && machine.connection(.failed, now: 3) == [])
    }

    @Test func anOfferThatIsNotAnsweredIsRefused() {
        var machine = WhipMachine()
        _ = machine.publish(Self.publisher)
        #expect(machine.failed("why") == [.report(.refused(reason: "why")), .finish])
        #expect(machine.answered("late", now: 0) == [])
        var idle = WhipMachine()
        #expect(idle.end("nobody came") == [.finish])
    }

    @Test func aClientThatDoesNotConnectIsGivenUp() {
        var machine = WhipMachine()
        _ = machine.publish(Self.publisher)
        _ = machine.answered("a", now: 0)
        #expect(machine.tick(.init(), now: 19 * Self.second) == [])
        #expect(machine.tick(.init(), now: 20 * Self.second).last == .finish)
    }

    /// A service that was killed while it started the worker names no publisher.
    @Test func aWorkerWithoutAPublisherEnds() {
        var machine = WhipMachine()
        #expect(machine.tick(.init(), now: 5 * Self.second) == [])
        #expect(machine.tick(.init(), now: 35 * Self.second - 1) == [] && !machine.isOver)
        #expect(machine.tick(.init(), now: 35 * Self.second) == [.finish])
        var late = WhipMachine()
        _ = late.tick(.init(), now: 0)
        #expect(late.publish(Self.publisher) == [.open(Self.publisher)])
        #expect(late.tick(.init(), now: 40 * Self.second) == [], "it is being answered")
    }

    @Test func silenceEndsAPublisher() {
        var machine = Self.live()
        #expect(machine.tick(.init(), now: 3 * Self.second - 1) == [])
        #expect(machine.tick(.init(last: 2 * Self.second), now: 5 * Self.second - 1) == [])
        #expect(
            machine.tick(.init(last: 2 * Self.second), now: 5 * Self.second) == [
                .report(.ended(reason: "no media for 3 s", cause: .other)), .finish,
            ])
    }

    @Test func anICERestartDelaysTheEndBySilence() {
        var machine = Self.live()
        machine.restarted(now: 2 * Self.second)
        #expect(machine.tick(.init(), now: 15 * Self.second - 1) == [])
        #expect(machine.tick(.init(), now: 15 * Self.second).last == .finish)
        // Media that come again count as before.
        var moved = Self.live()
        moved.restarted(now: 2 * Self.second)
        #expect(moved.tick(.init(last: 20 * Self.second), now: 22 * Self.second) == [])
        #expect(moved.tick(.init(last: 20 * Self.second), now: 23 * Self.second).last == .finish)
        // A client that has not connected yet gets the whole time again.
        var late = WhipMachine()
        _ = late.publish(Self.publisher)
        _ = late.answered("a", now: 0)
        late.restarted(now: 15 * Self.second)
        #expect(late.tick(.init(), now: 34 * Self.second) == [])
        #expect(late.tick(.init(), now: 35 * Self.second).last == .finish)
        late.restarted(now: 36 * Self.second)
        #expect(late.isOver)
    }

    @Test func theIngestIsDialledAgainForAWhile() {
        var machine = Self.live()
        machine.uplinkBegan()
        let lost = ConnectionFault(.lost, "lost")
        var (now, dials): (Int64, Int) = (Self.second, 0)
        #expect(machine.uplinkEnded(lost, now: now) == [])
        while !machine.isOver, now < 60 * Self.second {
            now += 50_000_000
            for action in machine.tick(.init(last: now), now: now) {
                guard action == .dial else { continue }
                dials += 1
                // Every other fault is the refusal of an ingest whose service is away.
                let fault = dials % 2 == 0 ? lost : ConnectionFault(.streamRefused, "no answer")
                if machine.uplinkEnded(fault, now: now).last == .finish {
                    #expect(31 * Self.second...33 * Self.second ~= now)
                }
            }
        }
        #expect(machine.isOver && 25...40 ~= dials, "\(dials)")
    }

    @Test func aRefusalIsFinal() {
        var first = Self.live()
        #expect(
            first.uplinkEnded(ConnectionFault(.streamRefused, "no"), now: 1) == [
                .report(.ended(reason: "the stream was not taken: no", cause: .streamRefused)), .finish,
            ])
    }

    @Test func aServerThatRefusesWhatItHadAcceptedHasAnotherPublisher() {
        var taken = Self.live()
        taken.uplinkBegan()
        #expect(
            taken.uplinkEnded(ConnectionFault(.streamRefused, "any words"), now: 1) == [
                .report(.ended(reason: "the stream was not taken: any words", cause: .streamReplaced)), .finish,
            ])
        var broken = Self.live()
        broken.uplinkBegan()
        #expect(
            broken.uplinkEnded(ConnectionFault(.protocolBroken, "not RTMP"), now: 1).first
                == .report(.ended(reason: "the stream was not taken: not RTMP", cause: .streamRefused)))
    }

    @Test func keyframesAreAskedForUntilOneComes() {
        var wish = KeyframeWish()
        func isDue(now: Int64, lastPacket: Int64?) -> Bool { wish.isDue(now: now, lastPacket: lastPacket) }
        #expect(!isDue(now: 0, lastPacket: nil), "nobody to ask")
        var asked: [Int64] = []
        for step in 0..<400 {
            let now = Int64(step) * 50_000_000
            if isDue(now: now, lastPacket: now) { asked.append(now) }
        }
        #expect(asked.prefix(3) == [0, 350_000_000, 700_000_000])
        #expect(
            asked.count == KeyframeWish.most + 6
                && asked[asked.count - 1] - asked[asked.count - 2] >= KeyframeWish.longPause)
        wish.took(isIDR: true, now: 20 * Self.second)
        #expect(!isDue(now: 20 * Self.second, lastPacket: 20 * Self.second - 1))
        wish.want()
        #expect(isDue(now: 21 * Self.second, lastPacket: 21 * Self.second - 1))
        wish.took(isIDR: false, now: 21 * Self.second)
        #expect(isDue(now: 22 * Self.second, lastPacket: 22 * Self.second - 1), "that was none")
        #expect(!isDue(now: 25 * Self.second, lastPacket: 22 * Self.second), "the camera is off")
    }

    @Test func packetsWithoutAPictureAskForAKeyframe() {
        var wish = KeyframeWish()
        func isDue(now: Int64, lastPacket: Int64?) -> Bool { wish.isDue(now: now, lastPacket: lastPacket) }
        wish.took(isIDR: true, now: 0)
        // One picture a second, as of a still screen: packets, and the picture at once.
        for second in 1...10 {
            let now = Int64(second) * Self.second
            #expect(!isDue(now: now, lastPacket: now))
            wish.took(isIDR: false, now: now + 1)
        }
        let start = 11 * Self.second
        #expect(!isDue(now: start, lastPacket: start))
        #expect(!isDue(now: start + 300_000_000, lastPacket: start + 300_000_000))
        #expect(isDue(now: start + 350_000_000, lastPacket: start + 350_000_000))
    }
}

struct PublishedStreamTests {
    private static func picture(
        _ milliseconds: Int64, isIDR: Bool = false, configuration: [UInt8] = [1], bytes: Int = 8
    )
        -> PublishedStream.Frame
    {
        .init(
            track: .video, pts: .milliseconds(milliseconds), dts: nil, isIDR: isIDR,
            payload: [UInt8](repeating: 7, count: bytes), configuration: configuration)
    }
    private static func sound(_ milliseconds: Int64) -> PublishedStream.Frame {
        .init(
            track: .audio, pts: .milliseconds(milliseconds), dts: nil, payload: [1, 2], configuration: [0x11, 0x90])
    }

    @Test func aServerBeginsWithTheLastKeyframe() {
        var stream = PublishedStream()
        #expect(stream.take(Self.picture(0)) == [], "nothing to begin with")
        #expect(stream.needsKeyframe)
        for frame in [Self.picture(33, isIDR: true), Self.sound(50), Self.picture(66)] {
            #expect(stream.take(frame) == [])
        }
        #expect(!stream.needsKeyframe)
        let tags = stream.open()
        #expect(
            tags.map(\.role) == [
                .metadata, .sequenceHeader(.video), .sequenceHeader(.audio), .frame(.video, isIDR: true),
                .frame(.audio, isIDR: false), .frame(.video, isIDR: false),
            ])
        #expect(tags.map(\.timestamp) == [533, 533, 533, 533, 529, 566])
        #expect(stream.take(Self.picture(99)).map(\.timestamp) == [599])
    }

    @Test func anotherSizeSendsItsHeaders() {
        var stream = PublishedStream()
        _ = stream.open()
        #expect(
            stream.take(Self.picture(0, isIDR: true)).map(\.role) == [
                .metadata, .sequenceHeader(.video), .frame(.video, isIDR: true),
            ])
        let tags = stream.take(Self.picture(33, isIDR: true, configuration: [2]))
        #expect(tags.map(\.role) == [.metadata, .sequenceHeader(.video), .frame(.video, isIDR: true)])
        #expect(tags[1].body.last == 2 && tags.allSatisfy { $0.timestamp == 533 })
        #expect(stream.take(Self.picture(66, configuration: [2])).count == 1)
    }

    @Test func aServerThatIsAwayForLongWaitsForAKeyframe() {
        var stream = PublishedStream()
        _ = stream.open()
        _ = stream.take(Self.picture(0, isIDR: true))
        stream.close()
        #expect(stream.needsKeyframe && stream.take(Self.picture(33)) == [])
        _ = stream.take(Self.picture(66, isIDR: true))
        for frame in 1...80 { _ = stream.take(Self.picture(66 + Int64(frame) * 33)) }
        #expect(stream.needsKeyframe, "longer than 2 s")
        #expect(stream.open().map(\.role) == [.metadata, .sequenceHeader(.video)])
        #expect(stream.take(Self.picture(5000)) == [])
        #expect(stream.take(Self.picture(5033, isIDR: true)).count == 1)
        stream.close()
        _ = stream.take(Self.picture(6000, isIDR: true, bytes: 3 << 20))
        _ = stream.take(Self.picture(6033, bytes: 2 << 20))
        #expect(stream.needsKeyframe, "larger than 4 MiB")
    }

    @Test func aPauseIsToldWithTheTimeOfTheNewestFrame() {
        var stream = PublishedStream()
        #expect(FLVMetadata.isPaused(stream.pause.body), "even before the first frame")
        var others = stream.open() + stream.take(Self.picture(0, isIDR: true))
        stream.close()
        #expect(FLVMetadata.isPaused(stream.pause.body) && stream.pause.role == .metadata)
        #expect(stream.pause.timestamp == 500)
        others += stream.open()
        #expect(others.count { $0.role == .metadata } == 2)
        #expect(others.allSatisfy { !FLVMetadata.isPaused($0.body) })
    }

    @Test func soundNeverGoesBack() {
        var stream = PublishedStream()
        _ = stream.open()
        let times = [0, 21, 15, 43].flatMap { stream.take(Self.sound($0)) }.filter {
            $0.role == .frame(.audio, isIDR: false)
        }
        .map(\.timestamp)
        #expect(times == [479, 500, 500, 522])
    }
}
