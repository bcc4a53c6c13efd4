import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

@Suite struct PictureOrderTests {
    /// Places pictures in decoding order, 40 ms apart, of which `first` is the first one decoded and displayed.
    /// `offset` is the position of the timeline for each of them, in ms.
    private static func place(
        _ order: inout PictureOrder, _ shown: [Int], from first: Int, offset: (Int) -> Int
    ) -> [Int] {
        shown.enumerated().map { place, picture in
            let own = EncodedFrame(
                track: .video, pts: .milliseconds((first + picture + 1) * 40), dts: .milliseconds((first + place) * 40),
                payload: [])
            var placed = own.shifted(by: .milliseconds(offset(first + place)))
            order.place(&placed, pts: own.pts, dts: own.dts)
            #expect(placed.pts >= placed.dts)
            return Int(placed.pts.roundedMilliseconds)
        }
    }

    /// Picture numbers in decoding order: I0 P3 B1 B2 P6 B4 B5 …
    private static let decoding = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11]

    private static func inOrder(_ times: [Int]) -> [Int] {
        zip(decoding, times).sorted { $0.0 < $1.0 }.map(\.1)
    }

    @Test("times stay as they are while the timeline does")
    func untouched() {
        var order = PictureOrder()
        let times = Self.place(&order, Self.decoding, from: 0) { _ in 1_000 }
        #expect(times == Self.decoding.map { 1_040 + $0 * 40 })
    }

    @Test(
        "a timeline that moves back before any picture squeezes those that follow", arguments: 1..<13,
        [-60, -110, -400])
    func back(at place: Int, by amount: Int) {
        var order = PictureOrder()
        let times = Self.inOrder(Self.place(&order, Self.decoding, from: 0) { 1_000 + ($0 < place ? 0 : amount) })
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
        // None is earlier than on the new timeline, or later than on the old one.
        for (picture, time) in times.enumerated() {
            #expect(time >= 1_040 + picture * 40 + amount && time <= 1_044 + picture * 40, "\(times)")
        }
    }

    @Test("a timeline that moves forward leaves the pictures in between where they belong", arguments: 1..<13)
    func forward(at place: Int) {
        var order = PictureOrder()
        let times = Self.inOrder(Self.place(&order, Self.decoding, from: 0) { 1_000 + ($0 < place ? 0 : 300) })
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
    }

    @Test("a new timeline is shown after all that was on the one before")
    func newTimeline() {
        var order = PictureOrder()
        let before = Self.place(&order, Self.decoding, from: 100) { _ in 0 }
        let times = Self.inOrder(Self.place(&order, Self.decoding, from: 0) { _ in 3_900 })
        #expect((times.first ?? 0) > (before.max() ?? 0), "\(times)")
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
    }

    @Test("pictures that are decoded as they are shown are left alone, and nothing of them is kept")
    func withoutReordering() {
        var order = PictureOrder()
        for index in 0..<100 {
            let time = MediaTime.milliseconds(index * 40)
            let mapped = EncodedFrame(track: .video, pts: time, dts: time, payload: [])
                .shifted(by: .milliseconds(index < 50 ? 500 : 400))
            var placed = mapped
            order.place(&placed, pts: time, dts: time)
            #expect(placed == mapped && order.count == 0)
        }
        // The first reordered picture follows them.
        let times = Self.inOrder(Self.place(&order, Self.decoding, from: 100) { _ in 300 })
        #expect(times[0] > 4_360 && zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
    }

    @Test("pictures that are moved later are no reason to put others off")
    func moved() {
        var order = PictureOrder()
        _ = Self.place(&order, Self.decoding, from: 0) { _ in 1_000 }
        order.shift(by: .milliseconds(-400))
        #expect(Self.place(&order, [2, 0, 1], from: 13) { _ in 600 } == [1_240, 1_160, 1_200])
    }

    @Test("a picture that is far from the others puts none of them off for long")
    func farPicture() {
        var order = PictureOrder()
        _ = Self.place(&order, Self.decoding, from: 100) { _ in 0 }
        var far = EncodedFrame(track: .video, pts: .seconds(9), dts: .milliseconds(4_600), payload: [])
        order.place(&far, pts: far.pts, dts: far.dts)
        #expect(far.pts == .seconds(9))
        // A new timeline, which would have to come after it.
        let times = Self.place(&order, Self.decoding, from: 0) { _ in 4_640 }
        #expect(times == Self.decoding.map { 4_680 + $0 * 40 })
    }

    @Test("any pictures are shown at different times, and few are kept", arguments: [false, true])
    func anything(isFar: Bool) {
        var random = SeededGenerator(announcedFor: "PictureOrderTests.anything")
        let range: ClosedRange<Int64> = isFar ? .min ... .max : -500_000_000...500_000_000
        for _ in 0..<50 {
            var order = PictureOrder()
            var seen: Set<MediaTime> = []
            for index in 0..<200 {
                let decoding = MediaTime.milliseconds(index * 20)
                let time = decoding + MediaTime(nanoseconds: Int64.random(in: range, using: &random))
                let own = EncodedFrame(track: .video, pts: time, dts: decoding, payload: [])
                var placed = own.shifted(by: .milliseconds(Int.random(in: -300...300, using: &random)))
                order.place(&placed, pts: own.pts, dts: own.dts)
                seen.insert(placed.pts)
                #expect(order.count <= PictureOrder.memory)
            }
            // Steps become too small only where hundreds are compressed in front of one picture.
            #expect(isFar || seen.count > 180)
        }
    }
}
