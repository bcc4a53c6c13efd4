import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import WebRTCGateway

/// The pictures of a program as sent to a WebRTC receiver.
@Suite struct SentPicturesTests {
    private static let configuration = CodecConfiguration(
        track: .video, bytes: [1, 0x42, 0xC0, 0x1E, 0xFF, 0xE1, 0, 2, 0x67, 1, 1, 0, 2, 0x68, 2])

    private static func frame(_ header: UInt8, _ pts: Int, dts: Int? = nil, size: Int = 2) -> MediaItem {
        let unit = [header] + [UInt8](repeating: 9, count: size - 1)
        return .frame(
            EncodedFrame(
                track: .video, pts: .milliseconds(pts), dts: .milliseconds(dts ?? pts), isIDR: header & 31 == 5,
                payload: [
                    UInt8(size >> 24 & 0xFF), UInt8(size >> 16 & 0xFF), UInt8(size >> 8 & 0xFF), UInt8(size & 0xFF),
                ] + unit))
    }

    private static func pictures() -> SentPictures {
        var pictures = SentPictures()
        #expect(pictures.take(.configuration(configuration)) == [])
        return pictures
    }

    @Test func theCurrentGroupIsSentFirstAndEndsAtTheProgramsTime() {
        var pictures = Self.pictures()
        _ = pictures.take(Self.frame(0x41, 0))
        for time in stride(from: 40, through: 400, by: 40) {
            _ = pictures.take(Self.frame(time == 200 ? 0x65 : 0x41, time))
        }
        let first = pictures.begin()
        #expect(first.map(\.isIDR) == [true, false, false, false, false, false])
        #expect(first.map(\.time) == [395, 396, 397, 398, 399, 400].map { .milliseconds($0) })
        #expect(first[0].bytes == [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 2, 0, 0, 0, 1, 0x65, 9])
        #expect(first[1].bytes == [0, 0, 0, 1, 0x41, 9])
        let next = pictures.take(Self.frame(0x41, 440))
        #expect(next.map(\.time) == [.milliseconds(440)], "from there on as they come")
        #expect(pictures.begin() == [])
    }

    @Test func nothingIsSentBeforeAKeyframe() {
        var pictures = Self.pictures()
        _ = pictures.begin()
        #expect(pictures.take(Self.frame(0x41, 0)) == [])
        #expect(pictures.take(Self.frame(0x65, 40)).count == 1 && pictures.take(Self.frame(0x41, 80)).count == 1)
    }

    @Test func aGroupThatIsTooLargeIsNoBeginning() {
        var pictures = Self.pictures()
        _ = pictures.take(Self.frame(0x65, 0))
        for time in 1...PictureGroup.most.pictures { _ = pictures.take(Self.frame(0x41, time)) }
        #expect(pictures.begin() == [])
        #expect(pictures.take(Self.frame(0x41, 10_000)) == [] && pictures.take(Self.frame(0x65, 10_040)).count == 1)
        var large = Self.pictures()
        _ = large.take(Self.frame(0x65, 0))
        for time in 1...9 { _ = large.take(Self.frame(0x41, time, size: 1 << 20)) }
        #expect(large.begin() == [])
    }

    @Test func picturesThatNobodyNeedsAreLeftOutIfTheOrderIsAnother() {
        var pictures = Self.pictures()
        _ = pictures.begin()
        #expect(pictures.take(Self.frame(0x65, 0)).count == 1)
        #expect(pictures.take(Self.frame(0x01, 40)).count == 1, "in order, it stays")
        #expect(pictures.take(Self.frame(0x41, 160, dts: 80)).count == 1)
        #expect(pictures.take(Self.frame(0x01, 80, dts: 120)) == [])
        #expect(pictures.take(Self.frame(0x21, 120, dts: 160)).count == 1, "others refer to it")
    }
}
