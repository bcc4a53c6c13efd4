import MixModel
import Testing

@testable import WebRTCGateway

@Suite struct RemoteCandidatesTests {
    private static func line(_ number: Int) -> String {
        "a=candidate:\(number) 1 udp 2122260223 192.0.2.1 \(10_000 + number) typ host\r\n"
    }

    @Test func theyWaitForTheDescription() {
        var candidates = RemoteCandidates()
        #expect(candidates.take(Self.line(1) + Self.line(2)) == [])
        #expect(candidates.described().map { $0.prefix(11) } == ["candidate:1", "candidate:2"])
        #expect(candidates.described() == [])
        #expect(candidates.take("a=ice-ufrag:x\r\n" + Self.line(3)).count == 1)
    }

    @Test func theyAreLimited() {
        var candidates = RemoteCandidates()
        #expect(candidates.take(String(repeating: " ", count: WebRTCCommand.longestFragment) + Self.line(1)) == [])
        _ = candidates.described()
        let many = (0..<40).map(Self.line).joined()
        #expect(candidates.take(many).count == 40)
        #expect(candidates.take(many).count == RemoteCandidates.most - 40)
        #expect(candidates.take(many) == [])
    }
}
