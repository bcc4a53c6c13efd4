import EncodedMedia
import TestSupport
import Testing

@testable import ProgramSplicer

@Suite struct KeyframeRequestsTests {
    private static let mixer = SpliceInput.mixer(1)
    private static let distance = MediaTime.seconds(2)

    @Test func oneOfManyViewersAsksAtATime() {
        var requests = KeyframeRequests()
        var random = SeededGenerator(announcedFor: "viewers that need keyframes")
        var passed: [MediaTime] = []
        var now = MediaTime.seconds(5)
        for _ in 0..<2000 {
            now += .milliseconds(Int.random(in: 0...40, using: &random))
            if Bool.random(using: &random) { requests.ask() }
            if requests.take(now: now) { passed.append(now) }
        }
        #expect(zip(passed, passed.dropFirst()).allSatisfy { $1 - $0 >= KeyframeRequests.pause })
        // No request waits longer than that.
        #expect(zip(passed, passed.dropFirst()).allSatisfy { $1 - $0 <= KeyframeRequests.pause * 2 })
    }

    @Test func aProgramWithoutKeyframesIsNoticed() {
        var requests = KeyframeRequests()
        #expect(!requests.lacksKeyframe(now: .seconds(9)), "it has not begun")
        requests.noteKeyframe(at: .seconds(9), of: .source("alice/camera"), distance: nil)
        #expect(!requests.lacksKeyframe(now: .seconds(11)) && requests.lacksKeyframe(now: .milliseconds(11_001)))
    }

    @Test func aRequestThatComesTooEarlyWaits() {
        var requests = KeyframeRequests()
        func passes(_ milliseconds: Int) -> Bool { requests.take(now: .milliseconds(milliseconds)) }
        #expect(requests.due == nil && !passes(0))
        requests.ask()
        #expect(passes(0) && requests.due == nil)
        requests.ask()
        #expect(requests.due == KeyframeRequests.pause && !passes(349))
        #expect(passes(350))
        // A keyframe that arrives meanwhile is sufficient.
        requests.ask()
        requests.noteKeyframe(at: .milliseconds(400), of: Self.mixer, distance: Self.distance)
        #expect(requests.due == nil && !passes(9000))
    }

    /// A source on air was asked by its splice shortly before a viewer needs a keyframe.
    @Test func aRequestThatAnotherOnePrecededWaits() {
        var requests = KeyframeRequests()
        func passes(_ milliseconds: Int) -> Bool { requests.take(now: .milliseconds(milliseconds)) }
        requests.ask()
        #expect(passes(100) && requests.due == nil)
        requests.wait(after: .zero)
        #expect(requests.due == KeyframeRequests.pause && !passes(349))
        #expect(passes(350) && requests.due == nil)
    }

    /// An encoder that makes a keyframe two seconds after the last one, and on every request.
    @Test func regularKeyframesStayWhereTheyAre() {
        var random = SeededGenerator(announcedFor: "regular keyframes")
        var requests = KeyframeRequests()
        let interval = MediaTime.milliseconds(40)
        var asked: Set<MediaTime> = []
        var (last, keyframes, extra) = (MediaTime.zero, [MediaTime](), 0)
        for tick in Int64(0)..<3000 {
            let time = interval * tick
            if Int.random(in: 0..<20, using: &random) == 0 { requests.ask() }
            if requests.take(now: time) {
                extra += 1
                asked.formUnion(requests.times(of: Self.mixer, next: time, distance: Self.distance))
            }
            guard tick == 0 || time - last >= Self.distance || asked.contains(time) else { continue }
            last = time
            keyframes.append(time)
            requests.noteKeyframe(at: time, of: Self.mixer, distance: Self.distance)
        }
        #expect(extra > 50 && keyframes.count > 100)
        for regular in stride(from: Int64(0), to: 3000, by: 50) { #expect(keyframes.contains(interval * regular)) }
    }

    @Test func aSpliceBeginsTheDistanceAnew() {
        var requests = KeyframeRequests()
        func times(of mixer: SpliceInput) -> [MediaTime] {
            requests.times(of: mixer, next: .seconds(1), distance: Self.distance)
        }
        requests.noteKeyframe(at: .zero, of: .source("alice/camera"), distance: nil)
        requests.noteKeyframe(at: .milliseconds(700), of: Self.mixer, distance: Self.distance)
        #expect(times(of: Self.mixer) == [.seconds(1), .milliseconds(2700)])
        requests.noteKeyframe(at: .milliseconds(900), of: .mixer(2), distance: Self.distance)
        #expect(times(of: .mixer(2)) == [.seconds(1), .milliseconds(2900)])
        // The keyframes of this mixer are unknown.
        #expect(times(of: .mixer(3)) == [.seconds(1)])
    }
}
