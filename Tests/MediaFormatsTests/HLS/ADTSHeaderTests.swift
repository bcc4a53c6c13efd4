import Testing

@testable import MediaFormats

struct ADTSHeaderTests {
    private func adts(_ bytes: [UInt8]) -> ADTSHeader? { AudioSpecificConfig(bytes).flatMap { ADTSHeader($0) } }

    @Test func itHoldsRateChannelsAndLength() throws {
        // AAC-LC, 48 kHz (index 3), stereo, 307 bytes.
        let header = try #require(adts([0x11, 0x90]))
        #expect(header.bytes(frame: 300) == [0xFF, 0xF1, 0x4C, 0x80, 0x26, 0x7F, 0xFC])
        #expect(ADTSHeader.longestFrame == 8184)
        #expect(header.bytes(frame: ADTSHeader.longestFrame) == [0xFF, 0xF1, 0x4C, 0x83, 0xFF, 0xFF, 0xFC])
    }

    @Test func whatADTSDoesNotHaveIsRefused() {
        #expect(adts([0x11, 0x94]) == nil, "960 samples a frame")
        #expect(adts([0x39, 0x90]) == nil, "object type 7")
        #expect(adts([0x17, 0x80, 0x5D, 0xC0, 0x90]) == nil, "48001 Hz")
    }
}
