import Testing

@testable import EncodedMedia
@testable import ProgramRelay

@Suite struct NoteLimitTests {
    @Test func messagesWithoutEndAreLeftOutAndCounted() {
        var limit = NoteLimit()
        var passed: [Int] = []
        // Ten per second for an hour.
        for index in 0..<36_000 {
            if let omitted = limit.take(now: .milliseconds(100 * index)) { passed.append(omitted) }
        }
        #expect(passed.count >= 690 && passed.count <= 705, "\(passed.count)")
        #expect(passed.prefix(100).allSatisfy { $0 == 0 })
        #expect(passed.dropFirst(110).allSatisfy { (50...60).contains($0) })
        // After a pause, everything is as at the beginning.
        for index in 0..<100 {
            let omitted = limit.take(now: .seconds(9_000 + Double(index) / 1000))
            #expect(omitted != nil)
        }
    }
}
