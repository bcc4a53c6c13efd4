import MediaFormats
import TestSupport
import Testing

struct WebRTCOfferTests {
    @Test func chromiumIsTakenInConstrainedBaseline() throws {
        let offer = try WebRTCOffer(Offers.chromium)
        #expect(offer.sections.map(\.kind) == [.audio, .video])
        #expect(offer.sections.map(\.mid) == ["0", "1"])
        #expect(offer.bundle == ["0", "1"])
        #expect(offer.sections.allSatisfy { $0.direction == .sendonly && $0.multiplexesRTCP && !$0.isRejected })
        #expect(offer.sections[1].credentials.name == "EsAw")
        #expect(offer.sections[1].fingerprint.digest.prefix(3) == [0x6B, 0x8B, 0xF0])
        #expect(offer.sections[1].headerExtension(WebRTCOffer.transportWideCongestionControl) == 3)

        let publication = try offer.publication()
        #expect(publication.video.section == 1)
        #expect(publication.video.format.payload == 109)
        #expect(publication.video.retransmission == 114)
        #expect(publication.video.format["PROFILE-level-id"] == "42e01f")
        #expect(publication.video.format.feedback == ["nack", "nack pli"])
        let audio = try #require(publication.audio)
        #expect(audio.format.payload == 111 && audio.format.clockRate == 48_000 && audio.format.channels == 2)
        #expect(audio.format["useinbandfec"] == "1")
        #expect(audio.retransmission == nil)
    }

    @Test func firefoxHasItsFingerprintInTheSessionAndADataChannel() throws {
        let offer = try WebRTCOffer(Offers.firefox)
        #expect(offer.sections.map(\.kind) == [.audio, .video, .application])
        #expect(Set(offer.sections.map(\.fingerprint)).count == 1)
        #expect(offer.sections[2].credentials == offer.sections[0].credentials)
        #expect(offer.sections[0].candidates.count == 1)
        let publication = try offer.publication()
        #expect(publication.video.format.payload == 126 && publication.video.retransmission == 127)
        #expect(publication.audio?.format.payload == 109)
        #expect(offer.sections[1].headerExtension(WebRTCOffer.transportWideCongestionControl) == 7)
        #expect(offer.sections[0].headerExtensions.map(\.id) == [1, 2, 3])
    }

    @Test func safariBundlesASectionWithoutATransport() throws {
        let offer = try WebRTCOffer(Offers.safari)
        #expect(offer.sections[1].credentials == offer.sections[0].credentials)
        #expect(!offer.sections[1].isRejected)
        let publication = try offer.publication()
        #expect(publication.video.section == 0 && publication.video.format.payload == 98)
        #expect(publication.audio?.section == 1)
    }

    @Test func aiortcAndGStreamerAreTaken() throws {
        let aiortc = try WebRTCOffer(Offers.aiortc)
        #expect(aiortc.sections[0].candidates.count == 2)
        #expect(try aiortc.publication().video.format.payload == 101)
        let gstreamer = try WebRTCOffer(Offers.gstreamer).publication()
        #expect(gstreamer.video.format.payload == 96)
        #expect(gstreamer.video.format["sprop-parameter-sets"]?.hasSuffix("aM48gA==") == true)
        #expect(gstreamer.audio == nil)
    }

    @Test(arguments: ["\r\n", "\n", "\r"])
    func linesEndInAnyWay(ending: String) throws {
        for (name, text) in Offers.all {
            let other = text.replacing("\n", with: ending)
            #expect(try WebRTCOffer(other) == WebRTCOffer(text), "\(name)")
        }
    }

    /// Each offer with suitable H.264 can be published, and no other one.
    @Test func offersAreTakenForTheirH264() throws {
        for (name, text) in Offers.all {
            let offer = try WebRTCOffer(text)
            let isTaken = (try? offer.publication()) != nil
            #expect(isTaken == Offers.hasH264(text), "\(name)")
            let other = try WebRTCOffer(text.replacing("H264/", with: "VP9/"))
            do {
                _ = try other.publication()
                Issue.record("\(name) is taken without H.264")
            } catch { #expect(error.isUnsuitable, "\(name)") }
        }
    }

    @Test func unsuitableOffersSayWhy() throws {
        func refusal(_ text: String) throws -> WebRTCOfferError? {
            let offer = try WebRTCOffer(text)
            do {
                _ = try offer.publication()
                return nil
            } catch { return error }
        }
        let withoutH264 = Offers.chromium.replacing("H264/", with: "VP9/")
        #expect(try refusal(withoutH264) == .noH264(offered: ["VP8", "VP9", "AV1"]))
        #expect(
            try refusal(Offers.chromium.replacing("packetization-mode=1", with: "packetization-mode=0"))
                == .noH264(offered: ["VP8", "H264", "AV1"]))
        // The packetization mode defaults to 0.
        #expect(try refusal(Offers.firefox.replacing(";packetization-mode=1", with: "")) != nil)
        #expect(try refusal(Offers.gstreamer.replacing("42E01F", with: "F4001F")) == .noH264(offered: ["H264"]))
        #expect(
            try refusal(Offers.chromium.replacing("opus/48000", with: "L16/48000"))
                == .noOpus(offered: ["L16", "G722", "PCMU", "PCMA"]))
        #expect(try refusal(Offers.gstreamer.replacing("a=sendonly", with: "a=recvonly")) == .sendsNothing(.video))
        #expect(try refusal(Offers.safari.replacing("m=video 9", with: "m=audio 9")) != nil)
        #expect(try refusal(Offers.chromium.replacing("a=group:BUNDLE 0 1\n", with: "")) == .separateTransports)
        #expect(try refusal(Offers.gstreamer.replacing("a=rtcp-mux\n", with: "")) == .separateTransports)
        for error in try [refusal(withoutH264), .noVideo, .sendsNothing(.video), .separateTransports] {
            #expect(error?.isUnsuitable == true)
        }
        #expect(
            try refusal(withoutH264)?.reason
                == "The offer has no H.264 video with packetization-mode=1, only VP8, VP9, AV1: let the client offer H.264"
        )
    }

    /// Pages put reasons into sentences of their own, and add the full stop.
    @Test(arguments: [
        WebRTCOfferError.tooLarge, .broken("it is empty"), .noVideo, .noH264(offered: ["VP8"]), .noH264(offered: []),
        .noOpus(offered: ["G722"]), .sendsNothing(.audio), .receivesNothing, .separateTransports,
    ])
    func reasonsEndWithoutAFullStop(error: WebRTCOfferError) {
        #expect(!error.reason.hasSuffix("."), "\(error.reason)")
    }

    @Test func soundThatIsOnlyHeardIsLeftOut() throws {
        let text = Offers.firefox.replacing(
            "m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101\nc=IN IP4 0.0.0.0\na=sendrecv",
            with: "m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101\nc=IN IP4 0.0.0.0\na=recvonly")
        #expect(try WebRTCOffer(text).publication().audio == nil)
    }

    @Test func profilesAreRead() {
        typealias Profile = WebRTCOffer.H264Profile
        #expect(Profile(profileLevelID: "42e01f") == .constrainedBaseline)
        #expect(Profile(profileLevelID: "42001F") == .baseline)
        #expect(Profile(profileLevelID: "4d001f") == .main)
        #expect(Profile(profileLevelID: "4d801f") == .constrainedBaseline)
        #expect(Profile(profileLevelID: "640c1f") == .high)
        for other in ["f4001f", "42e01", "42e01f0", "+2e01f", "42e01é", ""] {
            #expect(Profile(profileLevelID: other) == nil, "\(other)")
        }
    }

    @Test(arguments: [
        ("", "it is empty"),
        ("hello", "a line is not of the form x=…"),
        ("{\"type\":\"offer\"}", "a line is not of the form x=…"),
        ("o=- 1 1 IN IP4 0.0.0.0", "it does not begin with v=0"),
        ("v=0\ns=-", "it has no media"),
        ("v=0\nm=video", "a line m= is not complete"),
        ("v=0\nm=video 9999999 UDP/TLS/RTP/SAVPF 96", "a line m= is not complete"),
        ("v=0\nm=text 9 RTP/AVP 98", "it has media of an unknown kind"),
        ("v=0\nm=video 9 UDP/TLS/RTP/SAVPF 96", "it has no ICE name and password"),
        ("v=0\na=x\u{0}y", "a line has a control character"),
    ])
    func brokenOffersSayWhatIsWrong(text: String, words: String) {
        #expect(throws: WebRTCOfferError.broken(words)) { try WebRTCOffer(text) }
        #expect(WebRTCOfferError.broken(words).isUnsuitable == false)
    }

    @Test(arguments: [
        ("sha-256 6B:", "sha-1 6B:"), ("sha-256 6B:8B:", "sha-256 6B:"), ("6B:8B", "6B:XX"),
    ])
    func weakAndBrokenFingerprintsAreRefused(part: String, with other: String) {
        #expect(throws: WebRTCOfferError.broken("it has no fingerprint with SHA-256, SHA-384 or SHA-512")) {
            try WebRTCOffer(Offers.chromium.replacing(part, with: other))
        }
    }

    @Test func passwordsAndNamesOfMediaAreChecked() {
        #expect(throws: WebRTCOfferError.broken("it has no ICE name and password")) {
            try WebRTCOffer(Offers.chromium.replacing("ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1", with: "ice-pwd:short"))
        }
        #expect(throws: WebRTCOfferError.broken("two of its media have the same name")) {
            try WebRTCOffer(Offers.chromium.replacing("a=mid:1", with: "a=mid:0"))
        }
    }

    @Test func sizesAreLimited() throws {
        #expect(throws: WebRTCOfferError.tooLarge) {
            try WebRTCOffer(Offers.gstreamer + String(repeating: "a=x\n", count: WebRTCOffer.longest / 4))
        }
        #expect(throws: WebRTCOfferError.broken("it has more than 16 media")) {
            try WebRTCOffer("v=0\n" + String(repeating: "m=video 9 UDP/TLS/RTP/SAVPF 96\n", count: 17))
        }
        #expect(throws: WebRTCOfferError.broken("a part of it has more than 512 attributes")) {
            try WebRTCOffer(Offers.gstreamer + String(repeating: "a=x\n", count: 512))
        }
        let candidate = "a=candidate:1 1 udp 1 192.0.2.1 4000 typ host\n"
        let many = try WebRTCOffer(Offers.gstreamer + String(repeating: candidate, count: 100))
        #expect(many.sections[0].candidates.count == WebRTCOffer.mostCandidates)
        // The name of the encoding is longer than any that an error may repeat.
        let name = String(repeating: "X", count: 33)
        #expect(try WebRTCOffer(Offers.gstreamer.replacing("H264", with: name)).sections[0].formats.isEmpty)
    }

    @Test func fragmentsOfCandidatesAreRead() throws {
        let candidates = "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
        let fragment = try ICEFragment(
            candidates + "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw\r\n"
                + "a=end-of-candidates\r\n")
        #expect(fragment.credentials?.name == "EsAw" && fragment.candidates == 1 && fragment.isLast)
        #expect(try ICEFragment("a=end-of-candidates\n").credentials == nil)
        for broken in ["", "a=ice-ufrag:EsAw\n", "a=mid:0\n", "hello", "a=ice-ufrag:a\na=ice-pwd:b\n"] {
            #expect(throws: WebRTCOfferError.self) { try ICEFragment(broken) }
        }
    }

    /// Any text is either read or refused, and an offer that is read is within its limits.
    @Test func mutatedOffersNeverTrap() {
        var random = SeededGenerator(announcedFor: "mutatedOffersNeverTrap")
        let rounds = TestLength.of(short: 400, long: 20_000)
        let pieces = [
            "a=mid:0\n", "m=audio 9 UDP/TLS/RTP/SAVPF 0 8\n", "a=rtpmap:96 \n", "a=fmtp:", "=;=;",
            "99999999999999999999",
            "-1", "\u{301}\u{301}", "a=extmap:0/x y\n", "a=group:BUNDLE", "a=rtcp-fb:* nack\n", "\r", ":", " ", "/",
        ]
        var taken = 0
        for round in 0..<rounds {
            var bytes = Array(Offers.withH264[round % Offers.withH264.count].text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...60, using: &random)))
                case 2: bytes.insert(contentsOf: pieces.randomElement(using: &random)?.utf8 ?? "".utf8, at: place)
                default:
                    let end = min(bytes.count, place + Int.random(in: 1...500, using: &random))
                    bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
                }
                if bytes.isEmpty { break }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            _ = try? ICEFragment(text)
            guard let offer = try? WebRTCOffer(text) else { continue }
            _ = offer.completed(text)
            #expect(offer.sections.count <= 16)
            #expect(offer.sections.allSatisfy { $0.formats.count <= 128 && $0.candidates.count <= 64 })
            if let publication = try? offer.publication() {
                taken += 1
                #expect(offer.sections[publication.video.section].kind == .video)
                #expect(publication.video.format["packetization-mode"] == "1")
            }
        }
        // Most single changes hit a line that the reader ignores.
        #expect(taken > rounds / 10)
    }
}
