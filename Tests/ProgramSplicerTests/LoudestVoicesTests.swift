import EncodedMedia
import Foundation
import MixModel
import TestSupport
import Testing

@testable import ProgramSplicer

/// Times are counted in frames of 20 ms, loudness in dB of full scale.
@Suite struct LoudestVoicesTests {
    static let a: SourceID = "alice/camera"
    static let b: SourceID = "bob/camera"
    static let c: SourceID = "carol/camera"

    /// A participant's loudness from a frame on.
    typealias Score = [SourceID: [(from: Int, decibels: Double)]]

    private func play(_ score: Score, most: @escaping (Int) -> Int, frames: Int) -> [Set<SourceID>] {
        var voices = LoudestVoices(frame: .milliseconds(20))
        return (0..<frames).map { frame in
            let powers = score.compactMapValues { steps in
                steps.last { $0.from <= frame }.map { Float(pow(10, $0.decibels / 10)) }
            }
            return voices.choose(powers, most: most(frame))
        }
    }

    private func play(_ score: Score, most: Int, frames: Int) -> [Set<SourceID>] {
        play(score, most: { _ in most }, frames: frames)
    }

    @Test func everybodyIsHeardWhileThereArePlaces() {
        let heard = play([Self.a: [(0, -20)], Self.b: [(0, -90)]], most: 2, frames: 5)
        #expect(heard.allSatisfy { $0 == [Self.a, Self.b] })
    }

    @Test func theLoudestAreHeardFromTheFirstFrame() {
        let heard = play([Self.a: [(0, -40)], Self.b: [(0, -15)], Self.c: [(0, -20)]], most: 2, frames: 50)
        #expect(heard.allSatisfy { $0 == [Self.b, Self.c] })
    }

    @Test func whoTakesOverIsHeardWithinATenthOfASecond() throws {
        let score: Score = [Self.a: [(0, -20), (100, -70)], Self.b: [(0, -70), (100, -20)]]
        let heard = play(score, most: 1, frames: 200)
        #expect(heard[..<100].allSatisfy { $0 == [Self.a] })
        let change = try #require(heard.firstIndex(of: [Self.b]))
        #expect((100...105).contains(change))
        #expect(heard[change...].allSatisfy { $0 == [Self.b] })
    }

    @Test func somebodyMuchLouderIsHeardAtOnce() {
        let heard = play([Self.a: [(0, -30)], Self.b: [(0, -70), (60, -15)]], most: 1, frames: 80)
        #expect(heard[59] == [Self.a] && heard[61] == [Self.b])
    }

    @Test func aPlaceIsKeptForTheHold() throws {
        // Bob gets louder than Alice two frames after she got the place.
        let heard = play([Self.a: [(0, -90), (10, -30)], Self.b: [(0, -90), (12, -10)]], most: 1, frames: 60)
        let taken = try #require(heard.firstIndex(of: [Self.a]))
        let lost = try #require(heard.firstIndex(of: [Self.b]))
        #expect(.milliseconds(20) * Int64(lost - taken) >= LoudestVoices.hold)
        #expect(lost - taken <= 16)
    }

    @Test func equalVoicesDoNotTakeTurns() {
        let wobble: Score = [
            Self.a: (0..<300).map { ($0, -20 + ($0 % 3 == 0 ? 1.2 : -1.2)) },
            Self.b: (0..<300).map { ($0, -20 + ($0 % 3 == 1 ? 1.2 : -1.2)) },
        ]
        let heard = play(wobble, most: 1, frames: 300)
        #expect(Set(heard).count == 1)
    }

    @Test func pausesBetweenWordsAndNoiseCostNobodyTheirPlace() {
        let words: [(from: Int, decibels: Double)] = (0..<10).flatMap { [($0 * 30, -20), ($0 * 30 + 15, -80)] }
        let heard = play([Self.a: words, Self.b: [(0, -52)], Self.c: [(0, -45)]], most: 1, frames: 300)
        #expect(heard.allSatisfy { $0 == [Self.a] })
    }

    @Test func fewerPlacesGoToTheLoudestAtOnceAndMoreAreTakenAtOnce() {
        let score: Score = [Self.a: [(0, -30)], Self.b: [(0, -20)], Self.c: [(0, -25)]]
        let heard = play(score, most: { $0 < 20 ? 3 : $0 < 40 ? 1 : $0 < 60 ? 2 : 0 }, frames: 70)
        #expect(heard[19].count == 3)
        #expect(heard[20...39].allSatisfy { $0 == [Self.b] })
        #expect(heard[40...59].allSatisfy { $0 == [Self.b, Self.c] })
        #expect(heard[60...].allSatisfy { $0.isEmpty })
    }

    @Test func whoLeavesFreesThePlace() {
        var voices = LoudestVoices(frame: .milliseconds(20))
        #expect(voices.choose([Self.a: 0.1, Self.b: 0.01], most: 1) == [Self.a])
        #expect(voices.choose([Self.b: 0.01, Self.c: 0.001], most: 1) == [Self.b])
        #expect(voices.choose([:], most: 1).isEmpty)
    }

    @Test func neverMoreThanAllowedWhateverHappens() {
        var random = SeededGenerator(announcedFor: "loudest voices")
        var voices = LoudestVoices(frame: .milliseconds(21))
        let ids = (0..<9).map { SourceID("user\($0)/camera") }
        for step in 0..<2000 {
            let powers = Dictionary(
                uniqueKeysWithValues: ids.filter { _ in random.next() % 4 > 0 }.map {
                    ($0, Float(random.next() % 1000) / 1000)
                })
            let most = step / 100 % 5
            let heard = voices.choose(powers, most: most)
            #expect(heard.count <= most)
            #expect(heard.isSubset(of: powers.keys))
        }
    }
}
