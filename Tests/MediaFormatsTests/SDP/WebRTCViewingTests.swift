import EncodedMedia
import TestSupport
import Testing

@testable import MediaFormats

struct WebRTCViewingTests {
    /// Returns a viewer's offer, in the form that a browser makes from one to publish.
    private static func viewer(_ offer: String, _ direction: String = "recvonly") -> String {
        offer.replacing("a=sendonly", with: "a=\(direction)").replacing("a=sendrecv", with: "a=\(direction)")
    }

    private static func refusal(_ text: String) throws -> WebRTCOfferError? {
        let offer = try WebRTCOffer(text)
        do {
            _ = try offer.viewing(of: nil)
            return nil
        } catch { return error }
    }

    @Test(arguments: ["recvonly", "sendrecv"])
    func chromiumGetsTheProfileOfTheStream(direction: String) throws {
        let offer = try WebRTCOffer(Self.viewer(Offers.chromium, direction))
        func format(_ profile: WebRTCOffer.H264Profile?) throws -> WebRTCOffer.Format? {
            let viewing = try offer.viewing(of: profile)
            #expect(viewing.audio?.format.payload == 111 && viewing.audio?.section == 0 && viewing.video?.section == 1)
            return viewing.video?.format
        }
        for profile in [WebRTCOffer.H264Profile.constrainedBaseline, .baseline, .main, .high] {
            let chosen = try #require(try format(profile))
            #expect(chosen["packetization-mode"] == "1")
            let own = chosen["profile-level-id"].flatMap { WebRTCOffer.H264Profile(profileLevelID: $0) }
            let offered = offer.sections[1].formats.compactMap { format in
                format["packetization-mode"] == "1"
                    ? format["profile-level-id"].flatMap { WebRTCOffer.H264Profile(profileLevelID: $0) } : nil
            }
            #expect(own == (offered.contains(profile) ? profile : offered.max()), "\(profile) of \(offered)")
        }
        #expect(try format(.constrainedBaseline)?.payload == 109)
        let unknown = try #require(try format(nil)?["profile-level-id"])
        #expect(WebRTCOffer.H264Profile(profileLevelID: unknown) == .high, "browsers decode any")
        #expect(try offer.viewing(of: .constrainedBaseline).video?.retransmission == 114)
    }

    @Test func everyClientsOfferCanBeTurned() throws {
        for (name, text) in Offers.withH264 {
            let offer = try WebRTCOffer(Self.viewer(text))
            let viewing = try offer.viewing(of: .main)
            #expect(viewing.video != nil, "\(name)")
            #expect((viewing.audio != nil) == offer.sections.contains { $0.kind == .audio }, "\(name)")
        }
    }

    @Test func soundAloneIsHeard() throws {
        let withoutVideo = Self.viewer(Offers.chromium).replacing("m=video 9", with: "m=video 0")
        let viewing = try WebRTCOffer(withoutVideo).viewing(of: .high)
        #expect(viewing.video == nil && viewing.audio?.format.encoding == "OPUS")
        let silent = Self.viewer(Offers.chromium).replacing("m=audio 9", with: "m=audio 0")
        #expect(try WebRTCOffer(silent).viewing(of: .high).audio == nil)
    }

    @Test func unsuitableOffersSayWhy() throws {
        #expect(try Self.refusal(Offers.chromium) == .receivesNothing, "it publishes")
        #expect(WebRTCOfferError.receivesNothing.isUnsuitable)
        #expect(try Self.refusal(Self.viewer(Offers.chromium, "inactive")) == .receivesNothing)
        let viewer = Self.viewer(Offers.chromium)
        #expect(
            try Self.refusal(viewer.replacing("H264/", with: "VP9/")) == .noH264(offered: ["VP8", "VP9", "AV1"]))
        guard case .noOpus = try Self.refusal(viewer.replacing("opus/", with: "speex/")) else {
            Issue.record("sound that is no Opus is taken")
            return
        }
        #expect(try Self.refusal(viewer.replacing("a=group:BUNDLE 0 1\n", with: "")) == .separateTransports)
    }

    @Test func theProfileOfAStreamIsInItsRecord() {
        func profile(_ bytes: [UInt8]) -> WebRTCOffer.H264Profile? {
            WebRTCOffer.H264Profile(CodecConfiguration(track: .video, bytes: bytes))
        }
        #expect(profile([1, 0x42, 0xC0, 0x1F]) == .constrainedBaseline)
        #expect(profile([1, 0x42, 0x00, 0x0A]) == .baseline)
        #expect(profile([1, 0x4D, 0x40, 0x1F]) == .main)
        #expect(profile([1, 0x64, 0x00, 0x28]) == .high)
        #expect(profile([1, 0x7A, 0x00, 0x28]) == nil, "High 4:2:2")
        #expect(profile([1, 0x64]) == nil && profile([]) == nil)
        #expect(WebRTCOffer.H264Profile(CodecConfiguration(.h265, bytes: [1, 0x64, 0, 0x28])) == nil)
    }
}
