import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// The place where a frame is decoded.
@Suite("Place of decoding") struct DecodingPlaceTests {
    private static func frame(isIDR: Bool = false, bytes: Int = 1000) -> EncodedFrame {
        EncodedFrame(
            track: .video, pts: .zero, dts: .zero, isIDR: isIDR, payload: [UInt8](repeating: 0, count: bytes))
    }

    private static func place(_ milliseconds: Int64...) -> DecodingPlace {
        var place = DecodingPlace()
        for time in milliseconds {
            place.noteDecoded(taking: .milliseconds(time), processorTime: .milliseconds(time))
        }
        return place
    }

    @Test("The reading thread decodes what is known to be short")
    func short() {
        let place = Self.place(3, 1)
        #expect(place.isWithReader(Self.frame(), waiting: 0, total: .milliseconds(4)))
        #expect(!place.isWithReader(Self.frame(isIDR: true), waiting: 0, total: .milliseconds(4)), "a keyframe")
        #expect(
            !place.isWithReader(Self.frame(bytes: DecodingPlace.mostBytes + 1), waiting: 0, total: .milliseconds(4)),
            "a large one")
    }

    @Test("A replay stays in its order on the decoder's thread")
    func replay() {
        #expect(!Self.place(3, 1).isWithReader(Self.frame(), waiting: 1, total: .milliseconds(4)))
        #expect(!Self.place(3).isWithReader(Self.frame(), waiting: 0, total: .milliseconds(4)), "nothing is known")
    }

    @Test("Many people are decoded beside each other, however short each one's frames are")
    func many() {
        let place = Self.place(1, 1)
        #expect(place.isWithReader(Self.frame(), waiting: 0, total: DecodingPlace.budget))
        #expect(!place.isWithReader(Self.frame(), waiting: 0, total: DecodingPlace.budget + .milliseconds(1)))
    }

    @Test("A decoder that was slow once is never trusted again")
    func slow() {
        var place = Self.place(1, 21)
        for _ in 0..<1000 { place.noteDecoded(taking: .milliseconds(1), processorTime: .milliseconds(1)) }
        #expect(!place.isWithReader(Self.frame(), waiting: 0, total: .milliseconds(1)))
        // A frame that had to wait for a processor counts.
        place = Self.place(1, 1)
        place.noteDecoded(taking: .milliseconds(50), processorTime: .milliseconds(1))
        #expect(place.isWithReader(Self.frame(), waiting: 0, total: .milliseconds(1)))
    }

    @Test("The pace follows what frames cost")
    func pace() {
        var place = DecodingPlace()
        for _ in 0..<100 { place.noteDecoded(taking: .milliseconds(4), processorTime: .milliseconds(2)) }
        #expect((place.pace - .milliseconds(4)).magnitude < .milliseconds(1))
        var encoding = EncodingPlace(interval: .milliseconds(50))
        for _ in 0..<100 { encoding.noteEncoded(taking: .milliseconds(16)) }
        #expect(!encoding.isBeside)
        for _ in 0..<100 { encoding.noteEncoded(taking: .milliseconds(18)) }
        #expect(encoding.isBeside, "more than a third of the time")
        for _ in 0..<100 { encoding.noteEncoded(taking: .milliseconds(12)) }
        #expect(encoding.isBeside, "does not change back at once")
        for _ in 0..<100 { encoding.noteEncoded(taking: .milliseconds(8)) }
        #expect(!encoding.isBeside)
        let paces = DecodingPaces()
        paces.change(by: .milliseconds(4))
        paces.change(by: .milliseconds(3))
        paces.change(by: .zero - .milliseconds(4))
        #expect(paces.total == .milliseconds(3))
    }
}
