import EncodedMedia
import Testing

@testable import ProgramSplicer

@Suite struct SpliceInputStatesTests {
    @Test func eachFeedHasAStateOfItsOwn() {
        var states = SpliceInputStates()
        let feeds: [SpliceInput] = [.source("a/camera"), .source("b/camera"), .mixer(1), .mixer(2)]
        #expect(states[feeds[0]] == nil)
        for (index, feed) in feeds.enumerated() { states.update(feed) { $0.interval = .milliseconds(index) } }
        states[feeds[1]]?.isGone = true
        states[.mixer(9)]?.isGone = true
        #expect(states.count == 4 && states.keys == feeds)
        for (index, feed) in feeds.enumerated() {
            #expect(states[feed]?.interval == .milliseconds(index) && states[feed]?.isGone == (index == 1))
        }
        // The one that was updated last goes, and others take its place.
        states.update(feeds[1]) { $0.isGone = false }
        states[feeds[1]] = nil
        #expect(states[feeds[1]] == nil && states.keys == [feeds[0], feeds[2], feeds[3]])
        states.update(feeds[3]) { $0.reorders = true }
        states[feeds[3]] = nil
        states[feeds[0]] = nil
        #expect(states[feeds[2]]?.interval == .milliseconds(2) && states.count == 1)
        states.update(feeds[3]) { _ in }
        #expect(states[feeds[3]]?.reorders == false, "it begins anew")
        states[feeds[0]] = SpliceInputState()
        #expect(states.keys == [feeds[2], feeds[3], feeds[0]])
    }
}
