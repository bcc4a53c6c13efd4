import EncodedMedia
import MediaFormats
import Testing

@testable import WebRTCGateway

/// Times of the pictures that a publisher sends over RTP, which has no decoding times.
struct PublishedTimesTests {
    /// Records without and with reordering: profile Baseline, and High with two B-frames.
    private static let baseline: [UInt8] =
        [1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 9] + [0x67, 0x42, 0xC0, 0x1F, 0xF4, 0x02, 0x80, 0x2D, 0xC8]
        + [1, 0, 4, 0x68, 0xCE, 0x3C, 0x80]
    private static let high: [UInt8] =
        [1, 0x64, 0, 0x1F, 0xFF, 0xE1, 0, 0x1C]
        + [
            0x67, 0x64, 0, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x6A, 0x02, 0x02, 0x02, 0x80, 0, 0, 3, 0,
            0x80, 0, 0, 0x1E, 0x07, 0x8C, 0x18, 0xCB,
        ] + [1, 0, 4, 0x68, 0xCE, 0x3C, 0x80]

    /// Returns the times in ms at which pictures with these presentation times are sent.
    private static func sent(_ times: [Int64], _ configuration: [UInt8]) -> [(pts: Int64, dts: Int64)] {
        var stream = PublishedStream()
        _ = stream.open()
        return times.enumerated().flatMap { index, time in
            stream.take(
                PublishedStream.Frame(
                    track: .video, pts: .milliseconds(time), dts: nil, isIDR: index == 0, payload: [7],
                    configuration: configuration))
        }
        .compactMap { tag in
            guard case .frame = tag.role else { return nil }
            // The composition time of AVC video, 24 bits (E.4.3.1 of the FLV specification).
            let offset = tag.body[2...4].reduce(0) { $0 << 8 | Int64($1) }
            return (Int64(tag.timestamp) + offset, Int64(tag.timestamp))
        }
    }

    /// When the network's delay changes, a jitter buffer gives several pictures the same time, or goes back a little.
    @Test func withoutReorderingEachPictureIsShownAfterThePreviousOne() {
        let sent = Self.sent([0, 50, 100, 305, 305, 305, 290, 340], Self.baseline)
        #expect(sent.map(\.pts) == [500, 550, 600, 805, 806, 807, 808, 840])
        #expect(sent.map(\.dts) == sent.map(\.pts))
    }

    @Test func aLargeStepBackIsANewTimeline() {
        let sent = Self.sent([5000, 5050, 100, 150], Self.baseline)
        #expect(sent.map(\.pts) == [5500, 5550, 600, 650])
        #expect(sent.map(\.dts) == sent.map(\.pts))
    }

    /// I P B B: sent in the order 0, 3, 1, 2.
    @Test func decodingTimesPrecedePicturesThatAreReordered() {
        let times = (0..<10).flatMap { group in [0, 3, 1, 2].map { Int64(group * 4 + $0) * 40 } }
        let sent = Self.sent(times, Self.high)
        #expect(sent.count == times.count)
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(sent.allSatisfy { $0.dts <= $0.pts })
        #expect(sent.dropFirst(4).map(\.pts) == times.dropFirst(4).map { $0 + 500 })
    }
}
