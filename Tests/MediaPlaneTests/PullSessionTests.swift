import EncodedMedia
import Foundation
import Testing
import TextFormats

@testable import ProgramRelay

/// Session descriptions, and the RTP that they describe.
@Suite(.serialized, .timeLimit(.minutes(3))) struct PullSessionTests {
    private static let text = """
        v=0
        o=- 0 0 IN IP4 127.0.0.1
        s=a name
        c=IN IP4 127.0.0.1/64
        t=0 0
        m=application 5008 RTP/AVP 99
        m=video 5000 RTP/AVP 96 97
        a=rtpmap:96 H264/90000
        a=rtpmap:97 H265/90000
        a=fmtp:96 packetization-mode=1; sprop-parameter-sets=Z0LAHtk=,aM48gA==; bad="x"; clock-rate=1
        m=audio 5002/2 RTP/AVP 0
        c=IN IP4 239.1.2.3
        m=audio 5004 RTP/AVP 98
        a=rtpmap:98 opus/48000/2
        """

    private func read(_ text: String) throws -> SessionDescription { try SessionDescription(Array(text.utf8)) }

    @Test func thePictureAndTheSoundThatComeFirstAreTaken() throws {
        let media = try read(Self.text.replacing("\n", with: "\r\n")).media
        #expect(media.map(\.kind) == [.video, .audio] && media.map(\.port) == [5000, 5002])
        #expect(media.map(\.address) == ["127.0.0.1", "239.1.2.3"] && media.map(\.encoding) == ["H264", "PCMU"])
        #expect(
            media[0].caps == "application/x-rtp,media=(string)video,payload=(int)96,clock-rate=(int)90000,"
                + "encoding-name=(string)\"H264\",packetization-mode=(string)\"1\","
                + "sprop-parameter-sets=(string)\"Z0LAHtk=,aM48gA==\"")
        #expect(media[1].caps.contains("clock-rate=(int)8000") && media[1].channels == 1)
    }

    @Test(arguments: [
        ("", "v=0"), ("v=0", "neither"), ("v=0\nm=video 1 RTP/AVP 96\na=rtpmap:96 H264/90000", "neither"),
        ("v=0\nc=IN IP4 127.0.0.1\nm=video 5000 RTP/AVP 96", "neither"),
        ("v=0\nc=IN IP4 127.0.0.1\nm=video 5000 RTP/SAVP 96\na=rtpmap:96 H264/90000", "neither"),
        ("v=0\nc=IN IP4 127.0.0.1\nm=video 5000 RTP/AVP 96\na=rtpmap:96 H2\"64/90000", "neither"),
    ])
    func whatIsNoDescriptionIsRefused(text: String, words: String) {
        #expect("\(text)") { _ = try read(text) } throws: { ($0 as? PullEnd)?.words.contains(words) == true }
    }

    @Test func addressesAreJudged() throws {
        func end(_ address: String, port: Int = 5000, reach: Reach? = .loopback) throws -> PullEnd.Kind? {
            let description = try read(
                "v=0\nc=IN IP4 \(address)\nm=video \(port) RTP/AVP 96\na=rtpmap:96 H264/90000")
            do throws(PullEnd) {
                _ = try SDPPull.head(of: description, limits: reach, latency: .zero)
            } catch {
                return error.kind
            }
            return nil
        }
        #expect(try end("127.0.0.1") == nil && end("::1") == nil && end("10.1.2.3", reach: nil) == nil)
        #expect(try end("10.1.2.3") == .notAllowed && end("239.1.2.3") == .notAllowed)
        #expect(try end("0.0.0.0") == .protocolViolation && end("host.example") == .protocolViolation)
        #expect(
            try end("127.0.0.1", port: 80) == .protocolViolation && end("127.0.0.1", port: 65_535) == .protocolViolation
        )
        let group = Reach(places: [.init(scheme: "rtp", address: "239.1.2.3")])
        let head = try SDPPull.head(
            of: read("v=0\nc=IN IP4 239.1.2.3\nm=audio 5000 RTP/AVP 8"), limits: group, latency: .milliseconds(70))
        #expect(head.isRTP)
        #expect(head.outlets == [.audio("sound")] && head.properties.contains(.init("media0", "reuse", "true")))
        #expect(!head.pipeline.contains("239") && head.pipeline.contains("rtpbin name=rtp latency=70 "))
    }

    @Test func aContainerIsTakenAlone() throws {
        let head = try SDPPull.head(
            of: read("v=0\nc=IN IP4 127.0.0.1\nm=audio 5002 RTP/AVP 8\nm=video 5000 RTP/AVP 33"), limits: .loopback,
            latency: .zero)
        #expect(head.outlets == [.either("pictures")])
        #expect(!head.isRTP, "MPEG-TS has decoding times")
    }

    @Test(arguments: [["aac"], ["pcm_alaw", "-ar", "8000"]]) func whatIsDescribedIsReceived(sound: [String])
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sdp-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (pictures, sounds) = (try PullSender.freePort(), try PullSender.freePort())
        let file = directory.appending(path: "live.sdp")
        let sender = try PullSender.rtp(pictures, sounds, sound: sound, description: file.path)
        #expect(
            try await outputEventually { (try? String(contentsOf: file, encoding: .utf8))?.contains("m=audio") == true }
        )
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("file://localhost/live.sdp", media: directory)
        #expect(try await outputEventually { !pull.frames.isEmpty || !pull.ends.isEmpty }, "\(pull.ends)")
        print("RTP with SDP, \(sound[0]): first frame after \(ContinuousClock.now - start)")
        #expect(ContinuousClock.now - start < .seconds(15), "promised within 2 s, which a busy machine does not show")
        #expect(
            try await outputEventually {
                pull.frames.count { $0.track == .video } > 60 && pull.frames.count { $0.track == .audio } > 40
            }, "\(pull.ends) \(pull.frames.count)")
        #expect(pull.transcoded == (sound[0] == "aac" ? [] : [.audio]))
        sender.stop()
        #expect(try await outputEventually { pull.ends.map(\.kind) == [.timedOut] }, "\(pull.ends)")
        await pull.close()
    }
}

extension PullSender {
    /// Sends 60 s of pictures and sound as two streams of RTP, and writes their description.
    static func rtp(
        _ pictures: UInt16, _ sounds: UInt16, sound: [String], description: String
    ) throws -> PullSender {
        try PullSender(
            "/usr/bin/ffmpeg",
            [
                "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i",
                "sine=f=440:r=48000", "-t", "60", "-map", "0:v", "-c:v", "libx264", "-preset", "ultrafast", "-tune",
                "zerolatency", "-g", "15", "-pix_fmt", "yuv420p", "-bsf:v", "dump_extra", "-f", "rtp",
                "rtp://127.0.0.1:\(pictures)", "-map", "1:a", "-c:a",
            ] + sound + ["-f", "rtp", "rtp://127.0.0.1:\(sounds)", "-sdp_file", description])
    }
}
