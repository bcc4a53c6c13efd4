import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// The client of WHIP servers: addresses, requests, refusals and the states of a session.
@Suite struct WHIPSessionTests {
    private static let second: Int64 = 1_000_000_000
    private static let answer = """
        v=0\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        a=recvonly\r
        a=ice-ufrag:abcd\r
        a=ice-pwd:0123456789012345678901\r
        a=fingerprint:sha-256 \(Array(repeating: "AA", count: 32).joined(separator: ":"))\r
        a=rtpmap:96 H264/90000\r

        """

    private static func created(_ location: String? = "/session/1") -> WHIPResponse {
        WHIPResponse(status: 201, location: location, type: "application/sdp", body: Array(answer.utf8))
    }

    /// Returns a session that has sent its offer.
    private static func asking(_ url: String = "whips://secret@h/w/room") throws -> WHIPSession {
        var session = WHIPSession(try WHIPAddress(url))
        let address = try WHIPAddress(url)
        #expect(
            session.offered("offer")
                == [.send(WHIPRequest(kind: .begin(offer: "offer"), url: address.endpoint, token: address.token))])
        return session
    }

    /// Returns a session that has been live since 0.
    private static func live() throws -> WHIPSession {
        var session = try asking()
        #expect(session.answered(created(), now: 0) == [.accept(try WHIPAnswer(answer))])
        #expect(session.connected(now: 0) == [.begin] && session.isLive)
        return session
    }

    @Test func aSessionIsBegunAndEnded() throws {
        var session = try Self.live()
        #expect(session.farewell == WHIPRequest(kind: .end, url: "https://h/session/1", token: "secret"))
        #expect(session.connected(now: 1) == [] && session.answered(Self.created(), now: 1) == [])
        _ = session.lost("the connection is lost")
        #expect(session.fault?.code == .connectionLost)
        #expect(session.isOver && session.lost("again") == [] && session.tick(heard: nil, now: .max) == [])
        #expect(session.farewell != nil, "it is ended at the server as well")
    }

    /// The server may have created a session before it learns that nobody wants it any more.
    @Test func aSessionThatIsCreatedTooLateIsEnded() throws {
        var session = try Self.asking()
        session.leave()
        #expect(session.isOver && session.isAwaited && session.farewell == nil)
        #expect(session.answered(Self.created(), now: 0) == [])
        #expect(!session.isAwaited && session.fault == nil)
        #expect(session.farewell == WHIPRequest(kind: .end, url: "https://h/session/1", token: "secret"))

        session = try Self.asking()
        _ = session.lost("the connection is lost")
        _ = session.answered(Self.created(), now: 0)
        #expect(session.farewell?.url == "https://h/session/1" && session.fault?.code == .protocolError)

        session = try Self.asking()
        session.leave()
        #expect(session.answered(WHIPResponse(status: 307, location: "https://h2/w"), now: 0) == [])
        #expect(!session.isAwaited && session.farewell == nil)

        session = try Self.asking()
        session.leave()
        #expect(session.unanswered(OutputFault(.timeout, "timed out")) == [])
        #expect(!session.isAwaited && session.fault == nil)
    }

    /// A program of sound only has no video that a server could take.
    @Test func anAnswerIsJudgedByItsOffer() throws {
        let text = Self.answer.replacing("m=video 9 UDP/TLS/RTP/SAVPF 96", with: "m=audio 9 UDP/TLS/RTP/SAVPF 96")
            .replacing("H264/90000", with: "opus/48000/2")
        for hasVideo in [false, true] {
            var session = WHIPSession(try WHIPAddress("whips://h/w"))
            _ = session.offered("offer", hasVideo: hasVideo)
            let actions = session.answered(WHIPResponse(status: 201, body: Array(text.utf8)), now: 0)
            let fault = session.fault
            let code: OutputErrorCode? = hasVideo ? .publishRefused : nil
            #expect(actions.count == (hasVideo ? 0 : 1) && fault?.code == code)
        }
    }

    @Test(arguments: [
        ("/s/1", "https://h/s/1"), ("s/1", "https://h/w/s/1"), ("https://other/s", "https://other/s"),
        ("http://h/s", nil), ("ftp://h/s", nil), ("https://user@h/s", nil), ("/a b", nil), (nil, nil),
    ])
    func theSessionsAddressIsResolved(location: String?, url: String?) throws {
        var session = try Self.asking()
        _ = session.answered(Self.created(location), now: 0)
        #expect(session.fault == nil, "it goes on in any case")
        #expect(session.farewell?.url == url)
    }

    @Test func redirectsAreFollowedWithOfferAndToken() throws {
        var session = try Self.asking()
        for number in 1...5 {
            let url = "https://h\(number)/w"
            let actions = session.answered(WHIPResponse(status: 307, location: url), now: 0)
            #expect(actions == [.send(WHIPRequest(kind: .begin(offer: "offer"), url: url, token: "secret"))])
        }
        _ = session.answered(WHIPResponse(status: 308, location: "/x"), now: 0)
        #expect(session.fault?.code == .protocolError)
        for (status, location, code) in [
            (307, "http://h/w", OutputErrorCode.tlsFailed), (307, "ftp://h/w", .protocolError),
            (308, nil, .protocolError), (302, "https://h/w", .protocolError),
        ] as [(Int, String?, OutputErrorCode)] {
            var session = try Self.asking()
            _ = session.answered(WHIPResponse(status: status, location: location), now: 0)
            let fault = session.fault
            #expect(fault?.code == code, "\(status) \(location ?? "")")
        }
        // From a URL without TLS to one with it.
        var plain = try Self.asking("whip://h/w")
        let actions = plain.answered(WHIPResponse(status: 308, location: "https://h/w"), now: 0)
        #expect(actions == [.send(WHIPRequest(kind: .begin(offer: "offer"), url: "https://h/w", token: nil))])
    }

    @Test func aServerThatCannotBeReachedOverUDPIsNamed() throws {
        var session = try Self.asking()
        _ = session.answered(Self.created(), now: 0)
        #expect(session.tick(heard: nil, now: 6 * Self.second) == [])
        _ = session.tick(heard: nil, now: 7 * Self.second)
        let fault = session.fault
        #expect(fault?.code == .timeout && fault?.words.contains("UDP ports") == true, "\(String(describing: fault))")
    }

    @Test func silenceIsTheEnd() throws {
        var session = try Self.live()
        #expect(session.tick(heard: nil, now: 9 * Self.second) == [])
        #expect(session.tick(heard: 8 * Self.second, now: 17 * Self.second) == [])
        _ = session.tick(heard: 8 * Self.second, now: 18 * Self.second)
        #expect(session.fault?.code == .connectionLost)
        var mute = try Self.live()
        _ = mute.tick(heard: nil, now: 10 * Self.second)
        #expect(mute.fault != nil, "one that never reports")
    }

    @Test(arguments: [
        (401, OutputErrorCode.publishRefused), (403, .publishRefused), (404, .applicationRefused),
        (405, .applicationRefused), (406, .publishRefused), (409, .publishRefused), (415, .publishRefused),
        (429, .publishRefused), (500, .publishRefused), (503, .publishRefused), (200, .protocolError),
        (302, .protocolError),
    ])
    func refusalsHaveCodes(status: Int, code: OutputErrorCode) throws {
        var session = try Self.asking()
        _ = session.answered(WHIPResponse(status: status), now: 0)
        let fault = session.fault
        #expect(fault?.code == code && fault?.words.contains("(\(status))") == true)
        #expect(fault?.nature == .refusal && session.farewell == nil)
    }

    @Test(
        arguments: [
            ("application/problem+json", #"{"title":"t","detail":"no such room","status":404}"#, "no such room"),
            ("application/json", #"{"status":"error","error":"stream exists"}"#, "stream exists"),
            (nil, #"{"message":"later","code":5}"#, "later"), ("text/plain", "go away\nnow", "go away"),
            ("text/html", "<html>", nil), ("text/plain", "<html>", nil), ("text/plain", "   ", nil),
            ("application/json", "[1]", nil), ("application/json", #"{"error":{"code":1}}"#, nil),
            ("text/plain", "a\u{1B}[31mb", #"a\u001b[31mb"#),
        ] as [(String?, String, String?)])
    func serversReasonsAreShown(type: String?, body: String, words: String?) {
        let response = WHIPResponse(status: 404, type: type, body: Array(body.utf8))
        #expect(WHIPRefusal.reason(response) == words)
        #expect(words.map { WHIPRefusal.fault(response).words.hasSuffix("(404): \($0)") } ?? true)
    }

    @Test func reasonsAreBounded() {
        let body = Array(String(repeating: "é", count: 100_000).utf8)
        let reason = WHIPRefusal.reason(WHIPResponse(status: 500, type: "text/plain", body: body))
        #expect((reason?.utf8.count ?? .max) <= 200)
    }

    @Test(arguments: [
        ("v=0\r\n", OutputErrorCode.publishRefused), ("nonsense", .protocolError), ("", .protocolError),
        (answer.replacing("m=video 9", with: "m=video 0"), .publishRefused),
        (answer.replacing("sha-256", with: "sha-1"), .protocolError),
    ])
    func answersThatCannotBeUsedEndTheSession(text: String, code: OutputErrorCode) throws {
        var session = try Self.asking()
        let response = WHIPResponse(status: 201, location: "/s", body: Array(text.utf8))
        _ = session.answered(response, now: 0)
        #expect(session.fault?.code == code)
        #expect(session.farewell?.url == "https://h/s", "the server is told")
    }

    // MARK: Addresses and requests

    @Test func addressesAreHTTPWithTheTokenApart() throws {
        let address = try WHIPAddress("WHIPS://a%2Fb.c-d@Host.example:8443/whip/room?x=1")
        #expect(address.endpoint == "https://Host.example:8443/whip/room?x=1" && address.token == "a/b.c-d")
        let plain = try WHIPAddress("whip://[::1]:80/w")
        #expect(plain.endpoint == "http://[::1]:80/w" && plain.token == nil)
        #expect(plain.destination(nil)?.target.scheme == "whip" && plain.destination(nil)?.target.host == "::1")
        #expect(try WHIPAddress("whip://h/w").destination(nil)?.target.port == 80)
        #expect(try WHIPAddress("whips://h/w").destination(nil)?.target.port == 443)
        for url in ["http://h/w", "whip://", "whip://u:p@h/w", "whip://a%0Ab@h/w", "whip://h:99999/w", "whip:/h"] {
            #expect(throws: PullEnd.self, "\(url)") { try WHIPAddress(url) }
        }
    }

    @Test func requestsHaveTheTokenAndTheOffer() {
        let begin = WHIPRequest(kind: .begin(offer: "o"), url: "http://h/", token: "t").message
        #expect(begin.method == "POST" && begin.body == [0x6F])
        #expect(begin.fields.contains { $0 == ("Authorization", "Bearer t") })
        #expect(begin.fields.contains { $0 == ("Content-Type", "application/sdp") })
        let end = WHIPRequest(kind: .end, url: "http://h/", token: nil).message
        #expect(end.method == "DELETE" && end.body == nil && end.fields.isEmpty)
    }

    // MARK: The offer

    private static func offer(_ profile: [UInt8]?) -> String {
        WHIPOffer.text(
            of: """
                v=0\r
                m=video 9 UDP/TLS/RTP/SAVPF 96\r
                a=rtpmap:96 H264/90000\r
                a=rtcp-fb:96 nack pli\r
                a=fmtp:96 packetization-mode=1\r
                m=audio 9 UDP/TLS/RTP/SAVPF 97\r
                a=rtpmap:97 OPUS/48000\r
                a=end-of-candidates\r

                """,
            for: WHIPTracks(
                video: profile.map { CodecConfiguration(track: .video, bytes: [1] + $0 + [0xFF]) }, hasAudio: true))
    }

    @Test(
        arguments: [
            ([0x64, 0x00, 0x28], "640028"), ([0x4D, 0x40, 0x1F], "4d001f"), ([0x42, 0xC0, 0x1E], "42e01e"),
            ([0x42, 0x00, 0x1E], "42001e"), ([0x7A, 0x10, 0x28], "7a1028"),
        ] as [([UInt8], String)])
    func theProgramsProfileIsOffered(bytes: [UInt8], profile: String) {
        let lines = Self.offer(bytes).components(separatedBy: "\r\n")
        let formats = lines.filter { $0.hasPrefix("a=fmtp:96") }
        #expect(formats == ["a=fmtp:96 packetization-mode=1;level-asymmetry-allowed=1;profile-level-id=\(profile)"])
        #expect(lines.contains("a=rtpmap:97 opus/48000/2") && lines.contains { $0.hasPrefix("a=fmtp:97 ") })
        #expect(
            lines.firstIndex { $0.hasPrefix("a=fmtp:96") } ?? .max < lines.firstIndex { $0.hasPrefix("m=audio") } ?? 0)
        #expect(lines.last == "" && lines.contains("a=rtcp-fb:96 nack pli"))
    }

    @Test func withoutPicturesNothingIsSaidOfThem() {
        #expect(Self.offer(nil).contains("a=fmtp:96 packetization-mode=1\r\n"))
    }

    // MARK: The program

    @Test func tracksAreKnownWithTheFirstFrame() throws {
        var reader = WHIPProgramReader()
        let sound = FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90])
        #expect(try reader.push(FLVTag.fileHeader + OutputTag(sound).bytes).count == 1 && reader.tracks == nil)
        let frame = OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 1, body: [0xAF, 1, 1]))
        _ = try reader.push(frame.bytes)
        #expect(reader.tracks == WHIPTracks(video: nil, hasAudio: true))
    }
}
