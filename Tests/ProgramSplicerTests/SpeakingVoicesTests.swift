import EncodedMedia
import MixModel
import ProgramSplicer
import Testing

/// The speaking state for the border around a pane.
struct SpeakingVoicesTests {
    private var voices = SpeakingVoices(frame: .milliseconds(20))

    /// Returns for each frame whether the source counts as speaking.
    private mutating func states(_ powers: [Float]) -> [Bool] {
        powers.map { power in
            voices.take(["a/camera": power])
            return voices.speaking.contains("a/camera")
        }
    }

    @Test mutating func aVoiceCountsAfterAMomentAndAClickDoesNot() {
        let seen1 = states([0.01, 0, 0.01, 0.01, 0])
        #expect(seen1 == [false, false, false, false, false])
        let seen2 = states([0.01, 0.01, 0.01, 0.01])
        #expect(seen2 == [false, false, true, true])
    }

    @Test mutating func pausesBetweenWordsDoNotFlicker() {
        _ = states([0.01, 0.01, 0.01])
        // A silence of 680 ms, a word, and a silence of 680 ms count as one stretch.
        let seen3 = states([Float](repeating: 0, count: 34))
        #expect(seen3.allSatisfy { $0 })
        let seen4 = states([0.01])
        #expect(seen4 == [true])
        let seen5 = states([Float](repeating: 0, count: 34))
        #expect(seen5.allSatisfy { $0 })
        let seen6 = states([0, 0])
        #expect(seen6 == [false, false])
    }

    @Test mutating func aLevelBetweenTheLimitsKeepsTheState() {
        let between: Float = 5e-5
        let seen7 = states([Float](repeating: between, count: 100))
        #expect(seen7.allSatisfy { !$0 })
        _ = states([0.01, 0.01, 0.01])
        let seen8 = states([Float](repeating: between, count: 100))
        #expect(seen8.allSatisfy { $0 })
    }

    @Test mutating func aSourceThatIsGoneIsForgotten() {
        _ = states([0.01, 0.01, 0.01])
        voices.take([:])
        #expect(voices.speaking.isEmpty)
        let seen9 = states([0.01])
        #expect(seen9 == [false])
    }
}
