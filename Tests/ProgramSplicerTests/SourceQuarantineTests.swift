import Foundation
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

@Suite struct SourceQuarantineTests {
    /// Relays that end some time after a source has started to send, and are restarted again and again.
    private struct Relays {
        var left: [SourceID: SourceQuarantine.Record] = [:]
        /// Sources that were connected when the last relay ended, or when its time had passed.
        var connected: Set<SourceID> = []
        var quarantined: Set<SourceID> = []

        /// Runs one relay.
        ///
        /// - Parameter fatal: Time from the first media of each source until it ends the relay.
        /// - Returns: The time at which it ended; `nil` if it did not end.
        mutating func run(_ sources: [SourceID], fatal: [SourceID: MediaTime], seconds: Int) throws -> MediaTime? {
            var quarantine = SourceQuarantine(after: left)
            var media: [SourceID: MediaTime] = [:]
            var due = Dictionary(uniqueKeysWithValues: sources.map { ($0, MediaTime.zero) })
            connected = []
            quarantined = []
            for tick in 0..<seconds * 20 {
                let now = MediaTime.milliseconds(tick * 50)
                for id in sources where due[id].map({ now >= $0 }) ?? false {
                    switch quarantine.admit(id, now: now) {
                    case .now:
                        quarantine.connected(id, now: now)
                        (due[id], connected) = (nil, connected.union([id]))
                        quarantined.remove(id)
                    case .afterOthers(let time): due[id] = time
                    case .quarantined(let time, _, _):
                        due[id] = time
                        quarantined.insert(id)
                    }
                }
                for id in connected {
                    if media[id] == nil { media[id] = now + .milliseconds(100) }
                    guard let first = media[id], now >= first else { continue }
                    quarantine.delivered(id, isConfigured: false, now: now)
                    guard let delay = fatal[id], now - first >= delay else { continue }
                    // The part that a file keeps.
                    left = try JSONDecoder().decode(
                        [SourceID: SourceQuarantine.Record].self, from: JSONEncoder().encode(quarantine.records))
                    return now
                }
                quarantine.advance(to: now)
            }
            left = [:]
            return nil
        }
    }

    @Test("without a crash, sources are connected at once, and nothing is left of them")
    func ordinary() {
        var quarantine = SourceQuarantine()
        let names: [SourceID] = ["a", "b", "c"]
        for id in names {
            let admission = quarantine.admit(id, now: .zero)
            #expect(admission == .now)
            quarantine.connected(id, now: .zero)
            quarantine.delivered(id, isConfigured: true, now: .milliseconds(100))
        }
        #expect(quarantine.records.count == 3)
        quarantine.disconnected("a")
        quarantine.forget("b")
        #expect(Set(quarantine.records.keys) == ["c"])
        quarantine.advance(to: .seconds(9))
        #expect(quarantine.records.count == 1)
        quarantine.advance(to: .seconds(11))
        #expect(quarantine.records.isEmpty)
        // Another codec configuration is a new risk.
        quarantine.delivered("c", isConfigured: true, now: .seconds(20))
        #expect(quarantine.records["c"]?.isOnProbation == true)
    }

    @Test("a source that ends each relay is found, while the others are pulled", arguments: [1_500, 8_000])
    func culprit(longest: Int) throws {
        var random = SeededGenerator(announcedFor: "SourceQuarantineTests.culprit")
        for _ in 0..<TestLength.of(short: 8, long: 400) {
            let sources = (0..<Int.random(in: 2...6, using: &random)).map { SourceID("s\($0)") }
            let bad = try #require(sources.randomElement(using: &random))
            let fatal = [bad: MediaTime.milliseconds(Int.random(in: 0...longest, using: &random))]
            var relays = Relays()
            var crashes = 0
            var blamed: Set<SourceID> = []
            // The loop runs until a relay lasts for a minute with every possible source on air.
            while let end = try relays.run(sources, fatal: fatal, seconds: 60) {
                crashes += 1
                try #require(crashes < 12, "\(sources.count) sources, \(fatal), the last relay ended after \(end)")
                blamed.formUnion(relays.left.filter { $0.value.crashes > 1 }.keys)
            }
            #expect(relays.quarantined.contains(bad))
            if longest < 2_000 {
                // The first crash proves nothing; the second and later ones came during the source's own trial.
                #expect(crashes == 5 && blamed == [bad], "\(fatal) \(crashes) \(blamed)")
                #expect(relays.connected == Set(sources).subtracting([bad]))
            }
            let isOver = try relays.run(sources, fatal: [:], seconds: 700) == nil
            #expect(isOver && relays.connected == Set(sources), "it is well again")
        }
    }

    @Test("the time grows from 10 s to 10 min")
    func growth() {
        let seconds = (0...30).map(SourceQuarantine.quarantine)
        #expect(seconds.prefix(6) == [0, 0, 10, 20, 40, 80] && seconds.last == 600)
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy(<=))
        let most = SourceQuarantine(after: ["a": .init(crashes: .max, isOnProbation: true)])
        #expect(most.records["a"]?.crashes == .max)
    }

    @Test("two suspects take turns, and the first is cleared of what happens in the second's turn")
    func turns() {
        var quarantine = SourceQuarantine(after: [
            "a": .init(isOnProbation: true), "b": .init(isOnProbation: true),
        ])
        var admission = quarantine.admit("a", now: .zero)
        #expect(admission == .now)
        quarantine.connected("a", now: .zero)
        admission = quarantine.admit("b", now: .seconds(1))
        #expect(admission == .afterOthers(.milliseconds(1250)))
        quarantine.delivered("a", isConfigured: false, now: .seconds(1))
        admission = quarantine.admit("b", now: .milliseconds(2900))
        #expect(admission == .afterOthers(.milliseconds(3150)))
        admission = quarantine.admit("b", now: .seconds(3))
        #expect(admission == .now)
        quarantine.connected("b", now: .seconds(3))
        let next = SourceQuarantine(after: quarantine.records)
        #expect(next.records["a"]?.crashes == 1 && next.records["b"]?.crashes == 2)
        // A source that does not answer does not delay the others.
        var other = SourceQuarantine(after: ["a": .init(isOnProbation: true), "b": .init(isOnProbation: true)])
        _ = other.admit("a", now: .zero)
        other.connected("a", now: .zero)
        admission = other.admit("b", now: .seconds(3))
        #expect(admission == .now)
    }
}
