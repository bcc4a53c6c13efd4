import Testing

@testable import MediaFormats

/// Publishers' tags as read by a server, written by hand from the tables of Enhanced RTMP v2.
@Suite struct PublishedTagTests {
    private static let avc1 = Array("avc1".utf8), hvc1 = Array("hvc1".utf8), mp4a = Array("mp4a".utf8)

    private func tag(_ kind: FLVTag.Kind, _ body: [UInt8]) -> FLVTag? {
        if case .tag(let tag) = PublishedTag(kind, timestamp: 5, body: body) { tag } else { nil }
    }

    @Test func usualTagsStayAsTheyAre() {
        let bodies: [(FLVTag.Kind, [UInt8], FLVTag.Role)] = [
            (.video, [0x17, 0, 0, 0, 0, 1], .sequenceHeader(.video)),
            (.video, [0x17, 1, 0, 0, 0, 1], .frame(.video, isIDR: true)),
            (.video, [0x27, 1, 0, 0, 0, 1], .frame(.video, isIDR: false)),
            (.audio, [0xAF, 0, 0x12], .sequenceHeader(.audio)),
            (.audio, [0xAF, 1, 0x21], .frame(.audio, isIDR: false)),
            (.video, [0x90] + Self.hvc1 + [1], .sequenceHeader(.video)),
            (.video, [0x90] + Self.avc1 + [1], .sequenceHeader(.video)),
            (.video, [0x91] + Self.hvc1 + [0, 0, 0, 7], .frame(.video, isIDR: true)),
            (.video, [0xA3] + Self.hvc1 + [7], .frame(.video, isIDR: false)),
            (.audio, [0x90] + Self.mp4a + [0x12], .sequenceHeader(.audio)),
            (.audio, [0x91] + Self.mp4a + [7], .frame(.audio, isIDR: false)),
            // Codecs that relays transcode.
            (.video, [0x90] + Array("av01".utf8) + [1], .sequenceHeader(.video)),
            (.video, [0x91] + Array("av01".utf8) + [7], .frame(.video, isIDR: true)),
            (.video, [0x1C, 1, 0, 0, 0, 7], .frame(.video, isIDR: true)),
            (.audio, [0x2F, 7], .frame(.audio, isIDR: false)),
            (.audio, [0x91] + Array(".mp3".utf8) + [7], .frame(.audio, isIDR: false)),
        ]
        for (kind, body, role) in bodies {
            #expect(tag(kind, body) == FLVTag(role: role, timestamp: 5, body: body))
        }
    }

    @Test func theFourCCsAreThoseOfTheAcceptedCodecs() {
        let known = ["avc1", "hvc1", "av01", "vp09", "vp08", "vvc1", "mp4a", ".mp3", "Opus", "ac-3", "ec-3", "fLaC"]
        let accepted = known.filter { name in
            // A keyframe of video, and a frame of audio.
            [FLVTag.Kind.video, .audio].contains { tag($0, [0x91] + Array(name.utf8) + [0, 0, 0, 7]) != nil }
        }
        #expect(Set(accepted) == Set(PublishedTag.fourCCs))
    }

    @Test func whatIsNoMediaIsLeftOut() {
        for (kind, body) in [
            (FLVTag.Kind.video, []), (.video, [0x17]), (.video, [0x57, 0]), (.video, [0x17, 2, 0, 0, 0]),
            (.video, [0x17, 1, 0]),
            (.video, [0xD0] + Self.hvc1), (.video, [0x92] + Self.hvc1), (.video, [0x94] + Self.hvc1 + [2]),
            (.video, [0x91, 0x61]),
            (.audio, [0xAF]), (.audio, [0x92] + Self.mp4a), (.audio, [0x94] + Self.mp4a + [1]), (.script, [2, 0, 0]),
        ] as [(FLVTag.Kind, [UInt8])] {
            #expect(PublishedTag(kind, timestamp: 0, body: body) == .nothing, "\(body)")
        }
    }

    @Test func ofSeveralTracksTheFirstStays() {
        // Single tracks, number 0 and number 1.
        #expect(tag(.video, [0x96, 0x01] + Self.avc1 + [0, 9, 8])?.body == [0x91] + Self.avc1 + [9, 8])
        #expect(tag(.video, [0x96, 0x01] + Self.avc1 + [1, 9, 8]) == nil)
        // Many tracks of one codec: number 1 with two bytes, number 0 with three.
        #expect(
            tag(.video, [0xA6, 0x13] + Self.hvc1 + [1, 0, 0, 2, 5, 5, 0, 0, 0, 3, 7, 7, 7])?.body
                == [0xA3] + Self.hvc1 + [7, 7, 7])
        // Many tracks of many codecs.
        #expect(
            tag(.video, [0x96, 0x20] + Self.hvc1 + [1, 0, 0, 1, 5] + Self.avc1 + [0, 0, 0, 2, 1, 2])?.body
                == [0x90] + Self.avc1 + [1, 2])
        #expect(tag(.audio, [0x95, 0x01] + Self.mp4a + [0, 9])?.body == [0x91] + Self.mp4a + [9])
        // A size that exceeds the tag.
        #expect(tag(.video, [0xA6, 0x13] + Self.hvc1 + [0, 0, 0, 9, 5]) == nil)
    }

    @Test func modifiersAreSkipped() {
        // Three bytes of data (size − 1 = 2), then its type 0 and the packet type 1.
        #expect(
            tag(.video, [0x97, 2, 1, 2, 3, 0x01] + Self.hvc1 + [0, 0, 0, 4])?.body == [0x91] + Self.hvc1 + [0, 0, 0, 4])
        let long = [0x97, 0xFF, 1, 0] + [UInt8](repeating: 6, count: 257) + [0x03]
        #expect(tag(.video, long + Self.hvc1 + [4])?.body == [0x93] + Self.hvc1 + [4])
        #expect(tag(.video, [0x97, 0xFF, 0xFF]) == nil)
        #expect(tag(.video, [0x97, 9, 1]) == nil)
    }

    @Test func strangersAreNamedWithoutTheirBytes() {
        guard case .unsupported(let failure) = PublishedTag(.video, timestamp: 0, body: [0x90, 0, 0x1B, 0x41, 0x42, 1])
        else {
            return #expect(Bool(false))
        }
        #expect(failure == .unsupportedCodec(.video, codec: "??AB"))
    }
}
