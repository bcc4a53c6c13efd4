import MediaFormats
import MixModel
import Testing

@testable import WebRTCGateway

struct WebRTCAnswerTests {
    private static let transport = """
        a=ice-ufrag:abcd\r
        a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaaaa\r
        a=fingerprint:sha-256 \(Array(repeating: "AB", count: 32).joined(separator: ":"))\r
        a=setup:actpass\r
        a=rtcp-mux\r

        """

    /// Audio, and video with a second video stream that is not accepted.
    private static let offer = """
        v=0\r
        o=- 1 1 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0 1 2\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=mid:0\r
        a=sendonly\r
        a=rtpmap:111 opus/48000/2\r
        \(transport)m=video 9 UDP/TLS/RTP/SAVPF 96 102\r
        a=mid:1\r
        a=sendonly\r
        a=rtpmap:96 VP8/90000\r
        a=rtpmap:102 H264/90000\r
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r
        a=extmap:3 \(WebRTCOffer.transportWideCongestionControl)\r
        \(transport)m=video 9 UDP/TLS/RTP/SAVPF 102\r
        a=mid:2\r
        a=sendonly\r
        a=rtpmap:102 H264/90000\r
        a=fmtp:102 packetization-mode=1;profile-level-id=42e01f\r
        \(transport)
        """

    private static let made = """
        v=0\r
        s=-\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=mid:0\r
        a=recvonly\r
        a=candidate:9 1 UDP 1 10.0.0.9 1 typ host\r
        m=video 9 UDP/TLS/RTP/SAVPF 102\r
        a=fmtp:102 packetization-mode=1\r
        a=recvonly\r
        m=video 9 UDP/TLS/RTP/SAVPF 102\r
        a=fmtp:102 packetization-mode=1\r
        a=recvonly\r

        """

    private static func answer(
        _ addresses: [String], network: WebRTCNetwork = WebRTCNetwork(), rate: Int? = 2_500_000, made: String = made
    ) throws -> String? {
        let offer = try WebRTCOffer(offer)
        let publication = try offer.publication()
        let answer = WebRTCAnswer(
            to: offer, video: publication.video, audio: publication.audio, network: network, startBitRate: rate)
        return answer.text(
            of: made,
            addresses.enumerated().map { index, text in
                .init(section: 0, text: "candidate:\(index) 1 UDP 2015363327 \(text) 4\(index) typ host")
            })
    }

    private static func candidates(_ text: String?) -> [Substring] {
        (text ?? "").split(separator: "\r\n").filter { $0.hasPrefix("a=candidate") }
            .map { $0.split(separator: " ")[4] }
    }

    @Test func theFormatSaysWhatWasOfferedAndWhereToBegin() throws {
        let text = try #require(try Self.answer(["8.8.8.8"]))
        let lines = text.split(separator: "\r\n")
        #expect(
            lines.contains("a=fmtp:102 packetization-mode=1;profile-level-id=42e01f;x-google-start-bitrate=2500"))
        #expect(lines.count { $0 == "a=fmtp:102 packetization-mode=1" } == 1, "the other section's is as it was")
        #expect(lines.filter { $0 == "a=inactive" }.count == 1 && lines.last == "a=inactive")
        #expect(lines.filter { $0 == "a=recvonly" }.count == 2)
        let without = try #require(try Self.answer(["8.8.8.8"], rate: nil))
        #expect(without.contains("a=fmtp:102 packetization-mode=1;profile-level-id=42e01f\r\n"))
        // One answer already has the parameters, and one has no parameters at all.
        let full = Self.made.replacing(
            "packetization-mode=1", with: "Profile-Level-ID=42e01f;x-google-start-bitrate=1")
        #expect(
            try Self.answer(["8.8.8.8"], made: full)?.contains(
                "a=fmtp:102 Profile-Level-ID=42e01f;x-google-start-bitrate=1\r\n") ?? false)
        let bare = Self.made.replacing("a=fmtp:102 packetization-mode=1\r\n", with: "")
        #expect(
            try Self.answer(["8.8.8.8"], made: bare)?.contains(
                "a=recvonly\r\na=fmtp:102 packetization-mode=1;profile-level-id=42e01f;x-google-start-bitrate=2500\r\nm="
            )
                ?? false)
    }

    @Test func candidatesAreThoseThatClientsCanReach() throws {
        let all = ["8.8.8.8", "10.0.0.2", "127.0.0.1", "169.254.1.1", "fe80::1", "::1", "2001:4860::8"]
        let text = try #require(try Self.answer(all))
        #expect(Self.candidates(text) == ["8.8.8.8", "2001:4860::8"])
        #expect(!text.contains("10.0.0.9"), "those of webrtcbin's text are not kept")
        let lines = text.split(separator: "\r\n")
        let last = try #require(lines.firstIndex(of: "a=end-of-candidates"))
        #expect(lines[last - 1].hasPrefix("a=candidate") && lines[last + 1].hasPrefix("m=video"), "in their section")
        let near = WebRTCNetwork(namesPrivateAddresses: true)
        #expect(Self.candidates(try Self.answer(all, network: near)) == ["8.8.8.8", "2001:4860::8"])
        #expect(
            Self.candidates(try Self.answer(["10.0.0.2", "127.0.0.1"], network: near)) == ["10.0.0.2"],
            "better than none")
        let secret = ["10.0.0.2", "172.16.9.9", "192.168.1.2", "100.64.0.1", "fd00::1", "127.0.0.1", "fe80::1"]
        #expect(try Self.answer(secret) == nil, "no private address without being told to name it")
        #expect(
            Self.candidates(try Self.answer(secret, network: WebRTCNetwork(addresses: ["10.0.0.2"]))) == ["10.0.0.2"],
            "the operator has configured it")
        #expect(try Self.answer(["127.0.0.1", "fe80::1", "host.local"]) == nil)
        #expect(
            Self.candidates(try Self.answer(["127.0.0.1"], network: WebRTCNetwork(addresses: ["127.0.0.1"])))
                == ["127.0.0.1"])
        let many = try Self.answer((0..<200).map { "8.8.\($0).1" })
        #expect(Self.candidates(many).count == LocalCandidates.most)
    }

    @Test func aPublicAddressStandsForThoseOfItsFamily() throws {
        let network = WebRTCNetwork(addresses: ["10.0.0.2"], publicAddress: "8.8.4.4")
        #expect(
            Self.candidates(try Self.answer(["10.0.0.2", "2001:4860::8"], network: network)) == [
                "8.8.4.4", "2001:4860::8",
            ])
    }

    @Test func onlyCandidatesOfUDPAreNamed() throws {
        let offer = try WebRTCOffer(Self.offer)
        let publication = try offer.publication()
        let answer = WebRTCAnswer(
            to: offer, video: publication.video, audio: publication.audio, network: WebRTCNetwork())
        let texts = [
            "candidate:1 1 TCP 1 8.8.8.8 9 typ host tcptype active", "candidate:2 1 UDP 1 8.8.8.8", "nonsense", "",
            "candidate:3 1 UDP 1 8.8.8.8 99999 typ host", "candidate:4 1 UDP 1 8.8.8.8 5\r\na=x typ host",
            "candidate:5 1 UDP 1 9.9.9.9 5 typ srflx raddr 10.0.0.1 rport 5",
            "candidate:6 1 UDP 1 2001:4860::8 5 typ relay raddr fd00::1 rport 5 generation 0",
        ]
        let text = answer.text(of: Self.made, texts.map { .init(section: 0, text: $0) })
        #expect(Self.candidates(text) == ["9.9.9.9", "2001:4860::8"])
        // The private addresses behind them are not named.
        #expect(text?.contains(" typ srflx raddr 0.0.0.0 rport 9\r\n") ?? false)
        #expect(text?.contains(" typ relay raddr :: rport 9 generation 0\r\n") ?? false)
    }

    @Test func fragmentsAreReadUpToTheirLimit() {
        let fragment =
            "a=ice-ufrag:x\r\nm=audio 9 x\na=mid:0\n"
            + String(repeating: "a=candidate:1 1 udp 1 8.8.8.8 5 typ host generation 0\r\n", count: 100)
        #expect(
            ICECandidate.all(in: fragment, limit: 5).map(\.text)
                == Array(
                    repeating: "candidate:1 1 udp 1 8.8.8.8 5 typ host generation 0", count: 5))
        #expect(ICECandidate.all(in: "candidate:1 1 udp 1 8.8.8.8 5 typ host", limit: 5).isEmpty, "not an attribute")
        #expect(ICECandidate.all(in: "a=candidate:" + String(repeating: "x ", count: 2000), limit: 5).isEmpty)
        #expect(ICECandidate.all(in: fragment, limit: 0).isEmpty)
    }

    @Test func whatIsTakenIsPreparedSectionBySection() throws {
        let offer = try WebRTCOffer(Self.offer)
        let publication = try offer.publication()
        #expect(
            WebRTCReception.caps(of: publication.video, in: offer)
                == "application/x-rtp,media=(string)video,payload=(int)102,encoding-name=(string)H264,"
                + "clock-rate=(int)90000,packetization-mode=(string)1,"
                + "extmap-3=(string)\"\(WebRTCOffer.transportWideCongestionControl)\"")
        let audio = try #require(publication.audio)
        #expect(
            WebRTCReception.caps(of: audio, in: offer)
                == "application/x-rtp,media=(string)audio,payload=(int)111,encoding-name=(string)OPUS,"
                + "clock-rate=(int)48000")
    }
}
