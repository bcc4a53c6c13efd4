import EncodedMedia
import Testing

@testable import MediaFormats

/// Entry at open groups of pictures, whose NAL unit types are those of ITU-T H.265 table 7-1.
@Suite struct OpenGroupEntryTests {
    /// A record of H.265 without parameter sets, and one of H.264.
    private static let h265 = VideoConfiguration(
        CodecConfiguration(.h265, bytes: [1] + [UInt8](repeating: 0, count: 20) + [3, 0]))
    private static let h264 = VideoConfiguration(
        CodecConfiguration(.h264, bytes: [1, 0x42, 0, 0x1E, 0xFF, 0xE0, 0]))

    private func picture(_ types: UInt8...) -> EncodedFrame {
        EncodedFrame(
            track: .video, pts: .zero, dts: .zero, isIDR: types.contains { 16...21 ~= $0 },
            payload: types.flatMap { [0, 0, 0, 3, $0 << 1, 1, 0xAB] })
    }

    @Test func anOpenGroupBeginsAsABrokenLinkWithoutLeadingPictures() {
        var entry = OpenGroupEntry()
        let first = entry.begin(with: picture(35, 39, 21, 21), of: Self.h265)
        #expect(first == picture(35, 39, 18, 18))
        let sound = EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [8 << 1])
        let admitted = [picture(9), picture(35, 8), sound, picture(7), picture(1), picture(9)].map { entry.admits($0) }
        // Leading pictures of the next group have their references.
        #expect(admitted == [false, false, true, false, true, true])
    }

    /// After another source, leading pictures of a closed group, although decodable, would be displayed after it.
    @Test(arguments: [16, 17, 18, 19, 20] as [UInt8]) func closedGroupsPassWithoutLeadingPictures(type: UInt8) {
        var entry = OpenGroupEntry()
        let first = entry.begin(with: picture(type), of: Self.h265)
        let admitted = [picture(7), picture(6), picture(1), picture(7)].map { entry.admits($0) }
        #expect(first == picture(type) && admitted == [false, false, true, true])
    }

    @Test func h264Passes() {
        let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [0, 0, 0, 2, 42, 1])
        for configuration in [Self.h264, nil] {
            var entry = OpenGroupEntry()
            let first = entry.begin(with: frame, of: configuration)
            let isAdmitted = entry.admits(picture(9))
            #expect(first == frame && isAdmitted)
        }
    }

    /// Entering an open group of H.264, a decoder starts without leading pictures, which are identified by their times.
    @Test func h264BeginsWithoutWhatIsShownBefore() {
        func frame(_ milliseconds: Int, isIDR: Bool = false) -> EncodedFrame {
            EncodedFrame(
                track: .video, pts: .milliseconds(milliseconds), dts: .zero, isIDR: isIDR, payload: [0, 0, 0, 1, 65])
        }
        for isIDR in [false, true] {
            var entry = OpenGroupEntry()
            let first = entry.begin(with: frame(120, isIDR: isIDR), of: Self.h264)
            let sound = EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [1])
            let admitted = [frame(80), frame(40), sound, frame(240), frame(200), frame(80)].map { entry.admits($0) }
            #expect(first == frame(120, isIDR: isIDR))
            // No picture after an IDR is displayed before it, regardless of its timestamp.
            #expect(
                admitted == (isIDR ? [true, true, true, true, true, true] : [false, false, true, true, true, true]))
        }
    }

    @Test func aConnectionIsEnteredOnce() {
        var entry = OpenGroupEntry()
        let record = CodecConfiguration(.h265, bytes: [1] + [UInt8](repeating: 0, count: 20) + [3, 0])
        let items = [MediaItem.configuration(record)] + [1, 21, 9, 1, 21, 9].map { .frame(picture($0)) }
        let passed = items.map { entry.pass($0) }
        let types: [UInt8?] = [1, 18, nil, 1, 21, 9]
        let expected = types.map { type in type.map { MediaItem.frame(picture($0)) } }
        #expect(passed == [.configuration(record)] + expected)
    }

    @Test func bytesOfStrangersPass() {
        for payload: [UInt8] in [[], [0], [0, 0, 0, 0], [0, 0, 0, 9, 42], [0xFF, 0xFF, 0xFF, 0xFF, 42]] {
            var entry = OpenGroupEntry()
            let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: payload)
            let first = entry.begin(with: frame, of: Self.h265)
            let isAdmitted = entry.admits(frame)
            #expect(first == frame && isAdmitted)
        }
    }
}
