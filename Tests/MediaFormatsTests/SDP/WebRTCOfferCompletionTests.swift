import MediaFormats
import TestSupport
import Testing

struct WebRTCOfferCompletionTests {
    /// Returns the lines of the session, and then those of each of the media, beginning with `m=`.
    private static func blocks(_ text: String) -> [[String]] {
        var blocks: [[String]] = [[]]
        for line in text.split(whereSeparator: \.isNewline).map({ String($0) }) {
            if line.hasPrefix("m=") { blocks.append([]) }
            blocks[blocks.count - 1].append(line)
        }
        return blocks
    }

    @Test(arguments: ["chromium", "aiortc", "gstreamer"])
    func whatStatesEverythingStaysAsItIs(name: String) throws {
        let text = try #require(Offers.all.first { $0.name == name }?.text)
        #expect(try WebRTCOffer(text).completed(text) == text)
    }

    @Test func everyMediumHasItsTransportOnce() throws {
        for (name, text) in Offers.all {
            let offer = try WebRTCOffer(text)
            let completed = offer.completed(text)
            // It means the same.
            #expect(try WebRTCOffer(completed) == offer, "\(name)")
            #expect(offer.completed(completed) == completed, "\(name)")
            #expect(!completed.contains("bundle-only"), "\(name)")
            let blocks = Self.blocks(completed)
            func fingerprints(_ block: [String]) -> Int { block.count { $0.hasPrefix("a=fingerprint:") } }
            let isNamed = fingerprints(blocks[0]) > 0
            for (block, before) in zip(blocks, Self.blocks(text)).dropFirst() {
                for attribute in ["ice-ufrag", "ice-pwd", "setup"] {
                    #expect(block.count(where: { $0.hasPrefix("a=\(attribute):") }) == 1, "\(name): \(block)")
                }
                let own = fingerprints(before)
                #expect(fingerprints(block) == (isNamed ? own : max(own, 1)), "\(name): \(block)")
                #expect(!block[0].contains(" 0 UDP"), "\(name): \(block)")
            }
        }
    }

    /// The transport is that of the first of the bundled media, word for word.
    @Test func bundledMediaGetTheTransportOfTheBundle() throws {
        let completed = try WebRTCOffer(Offers.safari).completed(Offers.safari)
        let (video, audio) = (Self.blocks(Offers.safari)[1], Self.blocks(completed)[2])
        #expect(audio[0] == "m=audio 9 UDP/TLS/RTP/SAVPF 111")
        for attribute in ["a=ice-ufrag:", "a=ice-pwd:", "a=fingerprint:", "a=setup:"] {
            let own = try #require(audio.first { $0.hasPrefix(attribute) })
            #expect(own == video.first { $0.hasPrefix(attribute) })
        }
    }

    /// Servers answer in the same form.
    @Test func answersAreCompletedToo() throws {
        let text = Offers.obs.replacing("a=setup:actpass", with: "a=setup:passive")
            .replacing("a=sendonly", with: "a=recvonly")
        let blocks = Self.blocks(try WebRTCOffer(text).completed(text))
        #expect(blocks.dropFirst().allSatisfy { $0.contains("a=setup:passive") && $0.contains("a=ice-ufrag:kQ7s") })
    }

    /// An offer leaves open which side begins DTLS; an answer that says nothing leaves it to the other side.
    @Test func theDefaultOfSetupIsThatOfTheDescription() throws {
        let text = Offers.obs.replacing("a=setup:actpass\n", with: "")
        for (isAnswer, setup) in [(false, "actpass"), (true, "passive")] {
            let blocks = Self.blocks(try WebRTCOffer(text).completed(text, isAnswer: isAnswer))
            #expect(blocks.dropFirst().allSatisfy { $0.contains("a=setup:\(setup)") }, "\(blocks)")
        }
    }

    @Test func whatIsRefusedStaysRefused() throws {
        let text = Offers.obs.replacing("m=audio 50102", with: "m=audio 0")
        let completed = try WebRTCOffer(text).completed(text)
        #expect(Self.blocks(completed)[1][0] == "m=audio 0 UDP/TLS/RTP/SAVPF 111")
        #expect(try WebRTCOffer(completed).sections.map(\.isRejected) == [true, false])
    }
}
