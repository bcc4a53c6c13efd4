import Foundation
import MixModel
import Synchronization
import Testing
import TextFormats

@testable import EncodedMedia
@testable import GStreamerKit
@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// The common part of all pulls: reading, delivering, pacing and ending a stream.
@Suite(.timeLimit(.minutes(3))) struct PullDeliveryTests {
    /// Keeps a pull's events.
    private final class Log: Sendable {
        private let log = Mutex<[PullEvent]>([])
        var events: [PullEvent] { log.withLock { $0 } }
        var items: [MediaItem] {
            events.flatMap { event -> [MediaItem] in if case .media(let items, _) = event { items } else { [] } }
        }
        var ends: [PullEnd] { events.compactMap { if case .ended(let end) = $0 { end } else { nil } } }

        func receiver(pacing: PullPacing = .live) -> PullReceiver {
            PullReceiver(pacing: pacing) { event in self.log.withLock { $0.append(event) } }
        }
    }

    private static func sound(_ milliseconds: Int64, _ payload: [UInt8] = [0x21]) -> MediaItem {
        .frame(
            EncodedFrame(
                track: .audio, pts: .milliseconds(milliseconds), dts: .milliseconds(milliseconds), payload: payload))
    }

    @Test func eventsComeInOrderAndTheLastOneOnce() {
        let log = Log()
        let receiver = log.receiver()
        for _ in 0..<2 { receiver.connected() }
        receiver.deliver([], arrivedAt: 1)
        receiver.deliver([Self.sound(0)], arrivedAt: 2)
        receiver.end(.ended)
        receiver.end(.noMedia)
        receiver.deliver([Self.sound(1)], arrivedAt: 3)
        #expect(log.events == [.connected, .media([Self.sound(0)], arrivedAt: 2), .ended(.ended)])
    }

    @Test func whoIsSilencedHearsNothing() {
        let log = Log()
        let receiver = log.receiver()
        receiver.silence()
        receiver.connected()
        receiver.deliver([Self.sound(0)], arrivedAt: 0)
        receiver.end(.ended)
        #expect(log.events.isEmpty)
    }

    @Test func bytesAndMessagesGiveTheSameItemsWithoutMetadata() throws {
        let tags = [
            FLVTag(role: .metadata, timestamp: 0, body: [2, 0, 0]),
            FLVTag(
                role: .sequenceHeader(.video), timestamp: 0, body: [0x17, 0, 0, 0, 0, 1, 0x42, 0, 0x1E, 0xFF, 0xE0, 0]),
            FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90]),
            FLVTag(
                role: .frame(.video, isIDR: true), timestamp: 0xFFFF_FFF0,
                body: [0x17, 1, 0xFF, 0xFF, 0xD8, 0, 0, 0, 2, 0x65, 0x88]),
            FLVTag(role: .frame(.audio, isIDR: false), timestamp: 5, body: [0xAF, 1, 0x21]),
        ]
        let (bytewise, whole) = (Log(), Log())
        let byBytes = FLVPullReader(bytewise.receiver())
        for byte in FLVTag.fileHeader + tags.flatMap(\.encoded) { byBytes.push([byte], arrivedAt: 7) }
        FLVPullReader(whole.receiver()).push(
            tags.map {
                RTMPMessage(kind: .init(rawValue: $0.kind.rawValue), timestamp: $0.timestamp, body: $0.body)
            }, arrivedAt: 7)
        #expect(whole.items.count == 4 && whole.events.count == 2)
        #expect(bytewise.items == whole.items && bytewise.events.first == .connected)
        #expect(whole.items.count(where: \.isIDR) == 1)
        let times = whole.items.compactMap { if case .frame(let frame) = $0 { frame.dts } else { nil } }
        #expect(times.last.map { $0 - times[0] } == .milliseconds(21), "the timestamps wrap")
    }

    @Test func thePauseOfAPublisherIsTheOnlyMetadataOfMessages() {
        let log = Log()
        var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        let usual = metadata.body
        metadata.isPaused = true
        FLVPullReader(log.receiver()).push(
            [usual, metadata.body, usual].map { RTMPMessage(kind: .script, body: $0) }, arrivedAt: 7)
        #expect(log.items == [.metadata(metadata.body)])
    }

    @Test(arguments: [
        (Array("<html>too long</html>".utf8), PullEnd.Kind.protocolViolation, "FLV header"),
        (FLVTag.fileHeader + [0x0A] + [UInt8](repeating: 0, count: 14), .protocolViolation, "out of step"),
        (
            FLVTag.fileHeader
                + FLVTag(role: .frame(.audio, isIDR: false), timestamp: 0, body: [0x2F, 1, 0]).encoded,
            .unsupportedCodec, "MP3"
        ),
        (
            FLVTag.fileHeader + FLVTag(role: .frame(.video, isIDR: true), timestamp: 0, body: [0x14, 1, 0]).encoded,
            .unsupportedCodec, "VP6"
        ),
    ])
    func aStreamThatCannotBeReadEndsThePullOnce(bytes: [UInt8], kind: PullEnd.Kind, words: String) {
        let log = Log()
        let reader = FLVPullReader(log.receiver())
        for _ in 0..<3 { reader.push(bytes, arrivedAt: 0) }
        #expect(log.ends.map(\.kind) == [kind])
        #expect(log.ends.first?.words.contains(words) == true, "\(log.ends)")
        #expect(log.items.isEmpty)
    }

    /// The relay's limit counts the memory of the items, even tiny ones.
    @Test(arguments: [1, 4_000, 1 << 20]) func aSenderWhomNobodyKeepsUpWithIsEndedOnce(size: Int) {
        let backlog = Backlog(limit: Relay.pullLimit)
        let item = Self.sound(0, [UInt8](repeating: 0, count: size))
        var (bytes, ends) = (0, [PullEnd]())
        for _ in 0..<2 * Relay.pullLimit / (size + 256) {
            switch Relay.input(.media([item], arrivedAt: 0), of: "a/b", attempt: 1, backlog) {
            case .pulled(_, _, _, let size, _): bytes += size
            case .pullEnded(_, _, let end): ends.append(end)
            default: break
            }
        }
        #expect(ends.map(\.kind) == [.tooMuchPending])
        #expect(ends.first?.words == "it sends faster than can be processed: 64 MiB are pending")
        #expect(Relay.pullLimit / 4...Relay.pullLimit ~= bytes, "\(size)")
    }

    @Test func whatIsHandledMakesRoomAgain() {
        let backlog = Backlog(limit: Relay.pullLimit)
        let item = Self.sound(0, [UInt8](repeating: 0, count: 1 << 20))
        for _ in 0..<1_000 {
            guard
                case .pulled(_, _, _, let size, _) = Relay.input(
                    .media([item, item], arrivedAt: 0), of: "a/b", attempt: 1, backlog)
            else { return _ = Issue.record("no room") }
            backlog.remove(size)
        }
    }

    // MARK: Pacing

    @Test func framesAreDueByTheirTimestamps() {
        var pacer = PullPacer()
        #expect(
            pacer.due(.configuration(CodecConfiguration(track: .audio, bytes: [])), now: .seconds(9)) == .seconds(9))
        #expect(pacer.due(Self.sound(500), now: .seconds(10)) == .seconds(10))
        #expect(pacer.due(Self.sound(700), now: .seconds(10)) == .seconds(10.2))
        // A late frame is due now, and does not delay the following ones.
        #expect(pacer.due(Self.sound(800), now: .seconds(10.5)) == .seconds(10.5))
        #expect(pacer.due(Self.sound(1200), now: .seconds(10.5)) == .seconds(10.7))
        // After a pause of the receiver the rest does not arrive in a burst.
        #expect(pacer.due(Self.sound(1300), now: .seconds(20)) == .seconds(20))
        #expect(pacer.due(Self.sound(1400), now: .seconds(20)) == .seconds(20.1))
    }

    @Test(arguments: [60_000, -60_000, Int64.max / 1_000_000, Int64.min / 1_000_000])
    func aJumpBeginsANewTimeline(milliseconds: Int64) {
        var pacer = PullPacer()
        _ = pacer.due(Self.sound(0), now: .seconds(10))
        #expect(pacer.due(Self.sound(milliseconds), now: .seconds(10.1)) == .seconds(10.1))
        _ = pacer.due(.discontinuity, now: .seconds(10.1))
        #expect(pacer.due(Self.sound(5), now: .seconds(10.1)) == .seconds(10.1))
    }

    @Test func pacedItemsComeWhenTheyAreDueAndStoppingEndsTheWait() async throws {
        let log = Log()
        let receiver = log.receiver(pacing: .timestamps)
        let start = MonotonicClock.now()
        await Self.onThread { receiver.deliver([Self.sound(0), Self.sound(100), Self.sound(200)], arrivedAt: start) }
        let arrivals = log.events.compactMap { if case .media(_, let arrival) = $0 { arrival - start } else { nil } }
        #expect(log.items.count == 3 && arrivals.count == 3)
        #expect(arrivals[1] >= 99_000_000 && arrivals[2] >= 199_000_000)
        let begun = ContinuousClock.now
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { receiver.silence() }
        await Self.onThread { receiver.deliver([Self.sound(9_000), Self.sound(18_000)], arrivedAt: 0) }
        #expect(ContinuousClock.now - begun < .seconds(8), "the first is due after nine")
        #expect(log.items.count == 3)
    }

    private static func onThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                body()
                continuation.resume()
            }
        }
    }

    // MARK: Ends

    @Test func endsAreNamedByWhatHappenedAndHoldNoSecret() {
        let redaction = URLRedaction("rtmp://host/live/secret")
        let kinds: [(ConnectionFault.Kind, PullEnd.Kind)] = [
            (.notAllowed, .notAllowed), (.unresolvable, .unreachable), (.refused, .unreachable),
            (.unreachable, .unreachable), (.timedOut, .timedOut), (.lost, .lost), (.ended, .ended),
            (.unpublished, .publisherLeft), (.tlsFailed, .tlsFailed), (.protocolBroken, .protocolViolation),
            (.applicationRefused, .refused), (.streamRefused, .refused), (.badURL, .badURL),
        ]
        for (fault, kind) in kinds {
            let end = PullEnd(ConnectionFault(fault, "no secret"), redaction)
            #expect(end.kind == kind && end.words == "no ***")
        }
        #expect(PullEnd(GStreamerError(.missingElement, "x"), redaction).kind == .notInstalled)
        let refusal = BusFailure(
            source: "source", domain: "gst-resource-error-quark", code: 3, message: "Not Found: secret", debug: "")
        #expect(PullEnd(refusal, redaction) == PullEnd(.refused, "Not Found: ***"))
    }
}
