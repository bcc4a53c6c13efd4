import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramMixer
@testable import ProgramRelay
@testable import RTMP

/// A publisher of H.265 over Enhanced RTMP, in each form in which a tag may carry several tracks, through a real ingest
/// into a program of H.265. ffmpeg sends it from version 6.1 on.
@Suite(.serialized, .timeLimit(.minutes(5))) struct EnhancedPublisherTests {
    /// The form in which tags carry tracks ("Enhanced RTMP v2", AvMultitrackType).
    enum Form: CaseIterable, Sendable {
        case single, oneTrack, manyTracks, manyTracksOfManyCodecs
    }

    private static let host: SourceID = "host/camera"
    private static let avc1 = Array("avc1".utf8), hvc1 = Array("hvc1".utf8), mp4a = Array("mp4a".utf8)
    /// Another track, which must not reach the program.
    private static let other: [UInt8] = [0, 0, 0, 0, 0, 1, 0x26]

    private static func sized(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        [number] + bigEndianBytes(bytes.count, 3) + bytes
    }

    /// Returns the body of a tag in a form.
    private static func body(of tag: FLVTag, in form: Form) -> [UInt8] {
        guard form != .single else { return tag.body }
        guard tag.kind == .video else { return [0x95, tag.body[1]] + mp4a + [0] + tag.body[2...] }
        let (head, packet) = (tag.body[0] & 0xF0 | 6, tag.body[0] & 0x0F)
        let payload = Array(tag.body[5...])
        return switch form {
        case .single, .oneTrack: [head, packet] + hvc1 + [0] + payload
        case .manyTracks: [head, 0x10 | packet] + hvc1 + sized(1, other) + sized(0, payload)
        case .manyTracksOfManyCodecs: [head, 0x20 | packet] + avc1 + sized(1, other) + hvc1 + sized(0, payload)
        }
    }

    @Test(arguments: Form.allCases) func picturesOfH265AreTaken(form: Form) async throws {
        let video = try await TestStreams.video(count: 100, keyInterval: 20, options: "open-gop=0", codec: .h265)
            .looped(8)
        let sound = try await TestStreams.audio(count: 235) { _ in 0 }.looped(8)
        let (ingest, rig) = (try await IngestRig.start(), try await RelayRig())
        defer { ingest.stop() }
        let publisher = RawClient(port: ingest.port ?? 0)
        publisher.begin("publish", "host")
        #expect(try await outputEventually { ingest.figures?.publishers == 1 })
        try rig.apply(
            .bypass(Self.host), Scene.columns([Self.host]),
            [PlannedSource(id: Self.host, url: ingest.pullURL("host"))], encoding: EncodingSettings(videoCodec: .h265))
        var writer = RTMPChunkWriter()
        var setup: [UInt8] = []
        writer.append(.setChunkSize, on: 2, body: [0, 1, 0, 0], to: &setup)
        writer.chunkSize = 1 << 16
        publisher.send(setup)
        func pictures() -> [EncodedFrame] { rig.segments.flatMap(\.frames) }
        func isEnough() -> Bool { pictures().count >= 40 && rig.sound.frames.count >= 80 }
        let start = ContinuousClock.now
        for tag in TestTrack.tags(of: [video, sound]).sorted(by: { $0.timestamp < $1.timestamp }) {
            if isEnough() { break }
            try await Task.sleep(until: start + .milliseconds(tag.timestamp))
            var bytes: [UInt8] = []
            writer.append(
                tag.kind == .video ? .video : .audio, on: tag.kind == .video ? 6 : 4, timestamp: tag.timestamp,
                stream: 1,
                body: Self.body(of: tag, in: form)[...], to: &bytes)
            publisher.send(bytes)
        }
        #expect(
            try await outputEventually { isEnough() },
            "\(rig.account) \(ingest.log)")
        #expect(rig.segments.last?.configuration == video.configuration && rig.status?.sources.first?.transcoded == nil)
        let sent = Set(video.frames.map(\.payload))
        #expect(pictures().allSatisfy { sent.contains($0.payload) }, "copied as they came")
        #expect(rig.layouts.last?.notAlone == ["host"], "viewers over WebRTC are sent H.264 only")
        try await rig.stop()
    }
}
