import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import Synchronization
import TestSupport
import Testing
import WebRTCSupport

@testable import RTMP
@testable import WebRTCGateway

/// A sender and a receiving client, directly connected.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WebRTCSenderTests {
    /// A sender with its events, fed by a live encoder.
    private final class Stage: Sendable {
        let events = Mutex<[WebRTCSender.Event]>([])
        let sender = Mutex<WebRTCSender?>(nil)
        let bytes = Mutex<AccessUnitBytes?>(nil)
        let transcoder = Mutex<OpusTranscoder?>(nil)

        var description: String? {
            events.withLock { $0.lazy.compactMap { if case .described(let text) = $0 { text } else { nil } }.first }
        }
        var end: String? {
            events.withLock { $0.lazy.compactMap { if case .ended(let text) = $0 { text } else { nil } }.first }
        }
        func count(_ event: WebRTCSender.Event) -> Int { events.withLock { $0.count { $0 == event } } }

        func take(_ item: MediaItem) {
            transcoder.withLock { $0 }?.take(item)
            switch item {
            case .configuration(let configuration) where configuration.track == .video:
                bytes.withLock { $0 = AccessUnitBytes(configuration) }
            case .frame(let frame) where frame.track == .video:
                guard let bytes = bytes.withLock({ $0?.bytes(of: frame, delimits: false) }) else { return }
                onLoop { $0.push(picture: bytes, at: frame.pts, isIDR: frame.isIDR) }
            default: break
            }
        }

        func onLoop(_ body: @escaping @Sendable (WebRTCSender) -> Void) {
            guard let sender = sender.withLock({ $0 }) else { return }
            SocketLoop.shared.perform { body(sender) }
        }

        func make(_ formats: WebRTCSender.Formats) {
            sender.withLock { sender in
                sender = WebRTCSender(
                    formats, network: WebRTCNetwork(addresses: ["127.0.0.1"]), name: "sender"
                ) { [self] event in events.withLock { $0.append(event) } }
            }
            transcoder.withLock { transcoder in
                transcoder = OpusTranscoder { [self] packet in onLoop { $0.push(packet) } }
            }
        }

        func stop() async {
            transcoder.withLock { $0 }?.tearDown()
            await sender.withLock { $0 }?.close()
        }
    }

    /// Checks that pictures arrive unchanged and in order, and sound without a gap.
    private static func check(_ viewer: WebRTCViewer, _ encoder: LiveEncoder, _ comment: String) async throws {
        #expect(try await outputEventually { viewer.pictures.count > 60 && viewer.sound.count > 60 }, "\(comment)")
        let (pictures, sent, sound) = (viewer.pictures, encoder.sent, viewer.sound)
        let places = pictures.map { picture in sent.firstIndex(of: picture.unit) ?? -1 }
        let first = try #require(places.first)
        #expect(first >= 0 && places == Array(first..<first + places.count), "\(places) of \(sent.count)")
        // The first packet begins with the encoder's delay before any sound.
        let lengths = sound.dropFirst().map { $0.samples.count / 2 }
        #expect(lengths.allSatisfy { $0 == 960 }, "\(lengths)")
        let gaps = zip(sound.dropFirst(), sound.dropFirst(2)).map { ($1.time - $0.time).inMilliseconds }
        #expect(gaps.allSatisfy { 10...30 ~= $0 }, "\(gaps)")
        let peaks = sound.dropFirst(5).map { $0.samples.map(\.magnitude).max() ?? 0 }
        #expect(peaks.allSatisfy { $0 > 0.5 }, "no silence between: \(peaks)")
    }

    @Test func anOfferIsAnswered() async throws {
        let stage = Stage()
        stage.make(.init(video: 96, audio: 111))
        let encoder = try await LiveEncoder(interval: 15) { stage.take($0) }
        let viewer = try await WebRTCViewer()
        let text = try await viewer.offer()
        let offer = try WebRTCOffer(text)
        let viewing = try offer.viewing(of: nil)
        stage.onLoop { $0.answer(offer, text, video: viewing.video, audio: viewing.audio) }
        #expect(try await outputEventually { stage.description != nil || stage.end != nil })
        let answer = try #require(stage.description, "\(stage.end ?? "")\n\(text)")
        #expect(answer.contains("a=sendonly") && !answer.contains("a=sendrecv"), "\(answer)")
        viewer.peer.accept(answer)
        try await Self.check(viewer, encoder, "\(text)\n\(answer)\n\(stage.end ?? "") \(viewer.failure ?? "")")
        viewer.peer.requestKeyframe()
        #expect(try await outputEventually { stage.count(.keyframeRequested) >= 1 })
        let heard = Mutex<Int64?>(nil)
        stage.onLoop { sender in heard.withLock { $0 = sender.lastHeard } }
        #expect(try await outputEventually { heard.withLock { $0 } != nil }, "reports are heard")
        await encoder.stop()
        await stage.stop()
        await viewer.stop()
    }

    @Test func anOfferIsMade() async throws {
        let stage = Stage()
        stage.make(.init(video: 96, audio: 111))
        let encoder = try await LiveEncoder(interval: 15) { stage.take($0) }
        stage.onLoop { $0.offer() }
        #expect(try await outputEventually { stage.description != nil || stage.end != nil })
        let offer = try #require(stage.description, "\(stage.end ?? "")")
        #expect(offer.contains("a=sendonly") && !offer.contains("a=sendrecv"), "\(offer)")
        #expect(offer.contains("a=candidate") && offer.contains("127.0.0.1"))
        let viewer = try await WebRTCViewer()
        let answer = try await viewer.answer(offer)
        stage.onLoop { $0.accept(answer) }
        try await Self.check(viewer, encoder, "\(offer)\n\(answer)\n\(stage.end ?? "") \(viewer.failure ?? "")")
        await encoder.stop()
        await stage.stop()
        await viewer.stop()
    }

    /// A receiver whose certificate is not the one that its description names gets no picture and no sound.
    @Test(arguments: [true, false])
    func anotherCertificateReceivesNothing(makesOffer: Bool) async throws {
        let stage = Stage()
        stage.make(.init(video: 96, audio: 111))
        let encoder = try await LiveEncoder(interval: 15) { stage.take($0) }
        let viewer = try await WebRTCViewer()
        if makesOffer {
            stage.onLoop { $0.offer() }
            #expect(try await outputEventually { stage.description != nil || stage.end != nil })
            let answer = try await viewer.answer(try #require(stage.description, "\(stage.end ?? "")"))
            stage.onLoop { $0.accept(WhipClient.withOtherFingerprint(answer)) }
        } else {
            let text = WhipClient.withOtherFingerprint(try await viewer.offer())
            let offer = try WebRTCOffer(text)
            let viewing = try offer.viewing(of: nil)
            stage.onLoop { $0.answer(offer, text, video: viewing.video, audio: viewing.audio) }
            #expect(try await outputEventually { stage.description != nil || stage.end != nil })
            viewer.peer.accept(try #require(stage.description, "\(stage.end ?? "")"))
        }
        #expect(try await outputEventually { stage.end != nil }, "\(viewer.failure ?? "")")
        #expect(stage.end?.contains("a=fingerprint") ?? false, "\(stage.end ?? "")")
        // Time for several pictures, had they been sent.
        let count = encoder.sent.count
        #expect(try await outputEventually { encoder.sent.count > count + 15 })
        #expect(stage.count(.connected) == 0)
        #expect(viewer.pictures.isEmpty && viewer.sound.isEmpty)
        await encoder.stop()
        await stage.stop()
        await viewer.stop()
    }

    /// Returns a picture that is 100,000 bytes larger.
    private static func enlarged(_ item: MediaItem) -> MediaItem {
        guard case .frame(var frame) = item else { return item }
        // A NAL unit of filler data (ITU-T H.264 §7.3.2.7).
        let filler = [12] + [UInt8](repeating: 0xFF, count: 99_994) + [0x80]
        frame.payload += [0, UInt8(filler.count >> 16), UInt8(filler.count >> 8 & 255), UInt8(filler.count & 255)]
        frame.payload += filler
        return .frame(frame)
    }

    /// The events of a `ProgramSender`, and the number of pictures that it was given.
    private final class Outlet: Sendable {
        let events = Mutex<[ProgramSender.Event]>([])
        let pictures = Mutex(0)

        var offer: String? {
            events.withLock { $0.lazy.compactMap { if case .offered(let text) = $0 { text } else { nil } }.first }
        }
        var isConnected: Bool { events.withLock { $0.contains(.connected) } }

        /// Returns the item, enlarged if it is one of the first 20 pictures.
        func item(_ item: MediaItem) -> MediaItem {
            guard item.isFrame, item.track == .video else { return item }
            let number = pictures.withLock { pictures in
                pictures += 1
                return pictures
            }
            return number <= 20 ? WebRTCSenderTests.enlarged(item) : item
        }
    }

    /// The group of pictures with which an output begins may be larger than what may otherwise wait. The program goes
    /// on behind it, without another keyframe.
    @Test func aProgramGoesOnBehindALargeGroup() async throws {
        let outlet = Outlet()
        let sender = ProgramSender { event in outlet.events.withLock { $0.append(event) } }
        let encoder = try await LiveEncoder { item in sender.take([outlet.item(item)]) {} }
        sender.offer(hasVideo: true, hasAudio: true, addresses: ["127.0.0.1"])
        #expect(try await outputEventually { outlet.offer != nil && encoder.sent.count > 30 })
        let offer = try #require(outlet.offer)
        let viewer = try await WebRTCViewer()
        sender.accept(try await viewer.answer(offer))
        #expect(try await outputEventually { outlet.isConnected })
        let first = encoder.sent.count + 10
        #expect(
            try await outputEventually {
                let later = Set(encoder.sent.dropFirst(first))
                return viewer.pictures.contains { later.contains($0.unit) }
            }, "\(viewer.pictures.count) of \(encoder.sent.count)")
        await encoder.stop()
        await sender.close()
        await viewer.stop()
    }
}
