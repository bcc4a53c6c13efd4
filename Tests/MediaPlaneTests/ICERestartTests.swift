import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import TestSupport
import Testing

@testable import WebRTCGateway

/// ICE restarts of a publisher (RFC 9725 §4.3.3).
@Suite(.serialized, .timeLimit(.minutes(3))) struct ICERestartTests {
    private static let own = WebRTCPeer.ICECredentials(name: "new1", password: "abcdefghijklmnopqrstuv")

    @Test func theAnswerHasNewCredentialsAndTheSameCandidates() throws {
        let answer = """
            v=0\r
            a=group:BUNDLE 0 1\r
            a=mid:session\r
            m=audio 9 UDP/TLS/RTP/SAVPF 111\r
            a=ice-ufrag:old1\r
            a=ice-pwd:0123456789012345678901\r
            a=mid:0\r
            a=recvonly\r
            a=candidate:1 1 UDP 2015363327 8.8.8.8 40000 typ host\r
            a=candidate:2 1 UDP 2015363326 8.8.4.4 40001 typ host\r
            a=end-of-candidates\r
            m=video 9 UDP/TLS/RTP/SAVPF 102\r
            a=mid:1\r

            """
        let text = ICERestart.fragment(of: answer, Self.own)
        #expect(
            text.split(separator: "\r\n") == [
                "a=ice-ufrag:new1", "a=ice-pwd:abcdefghijklmnopqrstuv", "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0",
                "a=candidate:1 1 UDP 2015363327 8.8.8.8 40000 typ host",
                "a=candidate:2 1 UDP 2015363326 8.8.4.4 40001 typ host", "a=end-of-candidates",
            ])
        let read = try ICEFragment(text)
        #expect(read.credentials?.name == "new1" && read.candidates == 2 && read.isLast)
        // Clients that bundle on another section find the candidates there.
        let second = ICERestart.fragment(
            of: "v=0\r\nm=audio 9 x 1\r\na=mid:a\r\nm=video 9 x 2\r\na=mid:v\r\na=candidate:1\r\n", Self.own)
        #expect(second.hasSuffix("m=video 9 x 2\r\na=mid:v\r\na=candidate:1\r\n"))
        #expect(ICERestart.fragment(of: "", Self.own) == "a=ice-ufrag:new1\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n")
    }

    /// The client, the worker and the ingest are real. The stream continues, without another publisher or IDR header.
    @Test func theStreamContinuesOverTheNewPath() async throws {
        let stage = try await WhipTests.stage(hasAudio: false, silence: 3)
        for round in 1...2 {
            let own = try #require(stage.client.peer.restartICE())
            let candidates = stage.client.candidates.map { "a=\($0)\r\n" }.joined()
            stage.worker.send(
                .restart(
                    fragment: "a=ice-ufrag:\(own.name)\r\na=ice-pwd:\(own.password)\r\n"
                        + "m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:video0\r\n" + candidates))
            #expect(try await outputEventually { stage.worker.restarts.count == round }, "\(stage.worker.reports)")
            let answer = try #require(stage.worker.restarts.last)
            let remote = try #require(try ICEFragment(answer).credentials)
            #expect(answer.contains(" 127.0.0.1 "), "the candidates are repeated")
            #expect(stage.client.peer.setRemoteICE(.init(name: remote.name, password: remote.password)))
            for candidate in ICECandidate.all(in: answer, limit: 8) {
                stage.client.peer.addCandidate(candidate.text, section: 0)
            }
            let before = stage.player.pictures.count
            // Longer than the silence after which the publisher would count as gone.
            #expect(
                try await outputEventually { stage.player.pictures.count > before + 120 },
                "round \(round): \(stage.player.pictures.count - before) pictures\n\(stage.worker.log)")
        }
        #expect(stage.worker.end == nil && stage.player.end == nil)
        #expect(stage.worker.restarts.count == 2 && Set(stage.worker.restarts).count == 2)
        await stage.stop()
    }

    @Test func aWorkerWithoutAPublisherRefuses() async throws {
        let worker = try await WhipRig.start()
        defer { worker.stop() }
        worker.send(.restart(fragment: "a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n"))
        #expect(try await outputEventually { worker.refusal?.contains("before the offer is answered") ?? false })
    }
}
