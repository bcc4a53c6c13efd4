import TestSupport
import Testing

@testable import MediaFormats

/// Windows of frames that encoders made of noise bursts over a tone, and of broken ones.
@Suite struct AACWindowTests {
    /// The beginnings of frames. The first frames of FFmpeg begin with a fill element that names the encoder.
    private static let frames: [(name: String, bytes: [UInt8], sequence: AACWindow.Sequence)] = [
        ("FFmpeg, pair, long", [0x21, 0x16, 0x93, 0x55, 0xDA, 0x84], .onlyLong),
        (
            "FFmpeg, fill, pair, start",
            [
                0xDE, 0x02, 0x00, 0x4C, 0x61, 0x76, 0x63, 0x35, 0x39, 0x2E, 0x33, 0x37, 0x2E, 0x31, 0x30, 0x30, 0x00,
                0x42, 0x55, 0x1F, 0xFF,
            ], .longStart
        ),
        ("FFmpeg, pair, short", [0x21, 0x4C, 0x6C, 0xFE, 0x07, 0xFC], .eightShort),
        ("FFmpeg, pair, stop", [0x21, 0x7A, 0x8F, 0xFF, 0xFF, 0xFF], .longStop),
        ("FFmpeg, single, long", [0x00, 0xDA, 0x2D, 0x2E, 0xD0, 0x2D], .onlyLong),
        (
            "FFmpeg, fill, single, start",
            [
                0xDE, 0x02, 0x00, 0x4C, 0x61, 0x76, 0x63, 0x35, 0x39, 0x2E, 0x33, 0x37, 0x2E, 0x31, 0x30, 0x30, 0x00,
                0x02, 0x68, 0xAA, 0x59,
            ], .longStart
        ),
        ("FFmpeg, single, short", [0x01, 0x38, 0x98, 0xDA, 0xD2, 0x5D], .eightShort),
        ("FFmpeg, single, stop", [0x01, 0x10, 0xF5, 0x2D, 0xA4, 0xBD], .longStop),
        ("VisualOn, pair, start", [0x21, 0x20, 0x05, 0x20, 0xA4, 0x1B], .longStart),
        ("VisualOn, pair, short", [0x21, 0x4D, 0x6C, 0xF0, 0x02, 0x00], .eightShort),
        ("VisualOn, pair, stop", [0x21, 0x7B, 0x88, 0xF8, 0x00, 0x00], .longStop),
        ("VisualOn, pair, long", [0x21, 0x1B, 0x88, 0x30, 0x00, 0x00], .onlyLong),
    ]

    @Test func windowsOfEncodersAreRead() {
        for (name, bytes, sequence) in Self.frames {
            #expect(AACWindow(bytes)?.sequence == sequence, "\(name)")
        }
    }

    /// The window of the first channel comes after its gain if the channels of a pair have their own windows.
    @Test func aPairWithoutACommonWindowIsRead() {
        // 001 pair, 0000 tag, 0 own windows, 8 bits of gain, 0 reserved, 10 short.
        #expect(AACWindow([0b0010_0000, 0b1111_1111, 0b0100_0000])?.sequence == .eightShort)
    }

    @Test func dataBeforeTheFirstChannelIsSkipped() {
        // 100 data stream, 0000 tag, 1 aligned, 2 bytes; then a single channel with a long window.
        let channel: [UInt8] = [0x00, 0xDA, 0x2D]
        #expect(AACWindow([0b1000_0001, 2, 0xFF, 0xFF] + channel)?.sequence == .onlyLong)
        // 255 + 1 bytes.
        let long = [UInt8](repeating: 0xFF, count: 256)
        #expect(AACWindow([0b1000_0001, 255, 1] + long + channel)?.sequence == .onlyLong)
    }

    @Test func onlySlopesOfOneLengthJoin() {
        let frames: [[UInt8]] = [[0x21, 0x16], [0x21, 0x20], [0x21, 0x4C], [0x21, 0x7A]]
        let windows = frames.compactMap { AACWindow($0) }
        #expect(windows.count == 4)
        // Long, start, short, stop: which of them may follow.
        let expected = [
            [true, true, false, false], [false, false, true, true], [false, false, true, true],
            [true, true, false, false],
        ]
        for (window, follows) in zip(windows, expected) {
            #expect(windows.map { window.joins($0) } == follows, "\(window.sequence)")
        }
    }

    @Test func whatCannotBeReadHasNoWindow() {
        // Sixteen empty fill elements of seven bits, then a channel.
        let fill: [UInt8] = [0xC1, 0x83, 0x06, 0x0C, 0x18, 0x30, 0x60]
        // Nothing, cut off (twice), a coupling channel, a program configuration, the end, a reserved bit, a fill
        // element that is longer than the frame.
        let broken: [[UInt8]] = [
            [], [0x21], [0x00, 0xDA], [0x40, 0, 0], [0xA0, 0, 0], [0xE0, 0, 0], [0x21, 0x96], [0xDF, 0xFF, 0],
            fill + fill + [0x21, 0x16],
        ]
        for bytes in broken { #expect(AACWindow(bytes) == nil, "\(bytes)") }
    }

    @Test func anyBytesAreSurvived() {
        var random = SeededGenerator(announcedFor: "AAC windows")
        for _ in 0..<10_000 {
            let count = Int.random(in: 0...40, using: &random)
            _ = AACWindow((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
    }
}
