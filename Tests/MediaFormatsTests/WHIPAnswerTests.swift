import TestSupport
import Testing
import TextFormats

@testable import MediaFormats

/// Answers of WHIP servers, as judged by a client.
@Suite struct WHIPAnswerTests {
    private static let fingerprint = "sha-256 \(Array(repeating: "AB", count: 32).joined(separator: ":"))"
    private static let weakFingerprint = "sha-1 \(Array(repeating: "AB", count: 20).joined(separator: ":"))"
    static let text = """
        v=0\r
        o=- 1 1 IN IP4 0.0.0.0\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0 1\r
        a=fingerprint:\(fingerprint)\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        c=IN IP4 0.0.0.0\r
        a=mid:0\r
        a=recvonly\r
        a=ice-ufrag:abcd\r
        a=ice-pwd:0123456789012345678901\r
        a=setup:active\r
        a=rtpmap:96 H264/90000\r
        a=candidate:1 1 udp 2130706431 93.184.216.34 5000 typ host\r
        a=candidate:2 1 udp 2130706430 10.0.0.1 5000 typ host\r
        a=candidate:3 1 udp 2130706429 server.internal 5000 typ host\r
        a=candidate:4 1 tcp 2130706428 2a00:1450::1 443 typ host tcptype passive\r
        a=end-of-candidates\r
        m=audio 9 UDP/TLS/RTP/SAVPF 97\r
        a=mid:1\r
        a=recvonly\r
        a=rtpmap:97 opus/48000/2\r

        """

    @Test func whatIsTakenIsKnown() throws {
        #expect(try WHIPAnswer(Self.text).takesAudio)
        let silent = Self.text.replacing("m=audio 9", with: "m=audio 0")
        #expect(try !WHIPAnswer(silent).takesAudio)
        // The line ends are those that curl and other clients send.
        #expect(try WHIPAnswer(Self.text.replacing("\r", with: "")).takesAudio)
    }

    /// The answer to the offer of a program of sound only.
    @Test func audioAloneIsTaken() throws {
        let text =
            "v=0\r\na=fingerprint:\(Self.fingerprint)\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=recvonly\r\n"
            + "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=rtpmap:111 opus/48000/2\r\n"
        #expect(try WHIPAnswer(text, hasVideo: false).takesAudio)
        for (part, other, words) in [("audio 9", "audio 0", "no audio"), ("opus/48000/2", "PCMU/8000", "no Opus")] {
            let failure = #expect(throws: WHIPAnswer.Failure.self) {
                try WHIPAnswer(text.replacing(part, with: other), hasVideo: false)
            }
            #expect(failure?.isRefusal == true && failure?.words.contains(words) == true)
        }
        #expect(throws: WHIPAnswer.Failure.self) { try WHIPAnswer(text) }
    }

    @Test func onlyAllowedAddressesAreConnectedTo() throws {
        let answer = try WHIPAnswer(Self.text)
        let judged = answer.text { $0.isPublic }
        #expect(judged.contains("93.184.216.34") && judged.contains("2a00:1450::1"))
        #expect(!judged.contains("10.0.0.1") && !judged.contains("server.internal"))
        #expect(judged.contains("a=end-of-candidates\r\n") && judged.hasSuffix("opus/48000/2\r\n"))
        #expect(!answer.text { _ in false }.contains("a=candidate"))
        #expect(answer.text { _ in true }.contains("10.0.0.1"))
    }

    /// Libraries look for `a=candidate:` in the bytes of a line, and split it at each space.
    @Test(arguments: [
        "a=candidate:\u{301}1 1 udp 9 10.0.0.1 5000 typ host",
        "a=candidate:1 1\tx udp 93.184.216.34 10.0.0.1 5000 typ host",
        "a=candidate:1 1 udp  10.0.0.1 93.184.216.34 typ host generation 0",
    ])
    func noLineHidesItsAddress(line: String) throws {
        let judged = try WHIPAnswer(Self.text + line + "\r\n").text { $0.isPublic }
        #expect(judged.contains("93.184.216.34 5000") && !judged.contains("10.0.0.1"), "\(judged)")
    }

    @Test func candidatesAreBounded() throws {
        let line = "a=candidate:1 1 udp 2130706431 93.184.216.34 5000 typ host\r\n"
        let text = Self.text + String(repeating: line, count: 200)
        let judged = try WHIPAnswer(text).text { _ in true }
        #expect(judged.components(separatedBy: "a=candidate").count - 1 == WHIPAnswer.mostCandidates)
    }

    @Test(arguments: [
        ("m=video 9", "m=video 0", true, "no video"), ("H264/90000", "VP8/90000", true, "no H.264"),
        ("a=recvonly\r\na=ice", "a=inactive\r\na=ice", true, "no video"),
        ("a=ice-pwd:0123456789012345678901\r\n", "", false, "a=ice-pwd"),
        ("a=fingerprint:", "a=other:", false, "a=fingerprint"), ("v=0", "{}", false, "not one of WebRTC"),
        (fingerprint, weakFingerprint, false, "SHA-256, SHA-384 or SHA-512"),
        (fingerprint, "sha-256 AB:AB", false, "SHA-256, SHA-384 or SHA-512"),
    ])
    func whatCannotBeUsedIsNamed(part: String, other: String, isRefusal: Bool, words: String) {
        let text = Self.text.replacing(part, with: other)
        #expect(text != Self.text)
        let failure = #expect(throws: WHIPAnswer.Failure.self) { try WHIPAnswer(text) }
        #expect(
            failure?.isRefusal == isRefusal && failure?.words.contains(words) == true, "\(String(describing: failure))")
    }

    @Test func bytesOfStrangersDoNotTrap() {
        var random = SeededGenerator(announcedFor: "WHIP answers")
        let bytes = Array(Self.text.utf8)
        for _ in 0..<2000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: changed.indices, using: &random)
                if Bool.random(using: &random) {
                    changed[place] = UInt8.random(in: 0...255, using: &random)
                } else {
                    changed.remove(at: place)
                }
            }
            _ = (try? WHIPAnswer(String(decoding: changed, as: UTF8.self)))?.text { _ in true }
        }
        #expect(throws: WHIPAnswer.Failure.self) { try WHIPAnswer(String(repeating: "a=b\r\n", count: 20_000)) }
    }
}
