import Foundation
import MediaFormats
import MixModel
import TestSupport
import Testing

/// Answers of a real worker to the offers of clients that tests do not run, written and captured ones.
@Suite(.serialized, .timeLimit(.minutes(6))) struct WhipOfferTests {
    @Test(arguments: Offers.withH264.map { $0.name }) func everyClientIsAnswered(name: String) async throws {
        let text = try #require(Offers.all.first { $0.name == name }?.text).replacing("\n", with: "\r\n")
        let offer = try WebRTCOffer(text)
        let publication = try offer.publication()
        let worker = try await WhipRig.start()
        defer { worker.stop() }
        // Nothing is published before the client is connected.
        worker.send(
            .publish(
                WebRTCPublisher(
                    offer: text, target: "rtmp://127.0.0.1:1/publish/alice",
                    network: WebRTCNetwork(addresses: ["127.0.0.1"]))))
        #expect(try await outputEventually { worker.answer != nil || worker.refusal != nil })
        let answer = try #require(worker.answer, "\(worker.reports)\n\(worker.log)")

        var sections: [[String]] = []
        for line in answer.split(whereSeparator: \.isNewline).map({ String($0) }) {
            if line.hasPrefix("m=") { sections.append([]) }
            if !sections.isEmpty { sections[sections.count - 1].append(line) }
        }
        try #require(sections.count == offer.sections.count, "\(answer)")
        for track in [publication.video, publication.audio].compactMap(\.self) {
            let (lines, offered) = (sections[track.section], offer.sections[track.section])
            let words = lines[0].split(separator: " ").map { String($0) }
            try #require(words.count > 3, "\(answer)")
            #expect(words[0] == "m=\(offered.kind.rawValue)" && words[1] != "0", "\(answer)")
            #expect(words[3...].contains("\(track.format.payload)"), "\(answer)")
            for line in ["a=mid:\(offered.mid)", "a=recvonly", "a=rtcp-mux"] {
                #expect(lines.contains(line), "\(line) in \(answer)")
            }
        }
        let (video, format) = (sections[publication.video.section], publication.video.format)
        let profile = "profile-level-id=\(format["profile-level-id"] ?? "")".lowercased()
        #expect(
            video.contains { $0.hasPrefix("a=fmtp:\(format.payload) ") && $0.lowercased().contains(profile) },
            "\(profile) in \(answer)")
        #expect(answer.contains("a=candidate:") && answer.contains("a=fingerprint:"), "\(answer)")
    }
}
