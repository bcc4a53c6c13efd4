import Foundation
import LayoutEngine
import TestSupport
import Testing

/// Mutated templates: the decoder accepts or refuses each, and accepted ones make sound scenes. `make fuzz` runs a
/// million of them.
struct DecodingFuzzTests {
    private static let crowds = [people(1), people(2), people(5), people(16) + [screen]]
    private static let screen = LayoutParticipant(
        source: "user3/screen", user: "user3", kind: .screen, joinOrder: 3, hasAudio: false)

    @Test func mutatedTemplatesAreAnswered() throws {
        let count = ProcessInfo.processInfo.environment["LAYOUT_FUZZ_COUNT"].flatMap(UInt64.init) ?? 6000
        let files = try GoldenSceneTests.shippedNames.map {
            try Array(Data(contentsOf: GoldenSceneTests.layouts.appending(path: "\($0).json")))
        }
        let mutator = TemplateMutator(files)
        var accepted = 0
        for seed in 1...max(count, 1) {
            do {
                let template = try LayoutTemplate.decode(mutator.template(seed: seed), name: "fuzz")
                accepted += 1
                for crowd in Self.crowds {
                    let scene = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
                    #expect(flaws(of: scene) == [], "seed \(seed)")
                }
            } catch {
                #expect(!error.issues.isEmpty, "seed \(seed)")
                #expect(error.issues.allSatisfy { $0.line >= 1 && $0.column >= 1 }, "seed \(seed)")
            }
        }
        // Neither all nor none is accepted; otherwise the mutations would test only half of the decoder.
        #expect(accepted > Int(count) / 50 && accepted < Int(count), "\(accepted) of \(count) accepted")
    }

    /// The worst texts that fit into a file are answered in a time that the service can spare, even without
    /// optimisation.
    @Test(arguments: [
        "[", "{\"a\":", "[0,", "{\"a\":1,\"b\":2},", "\"", "1", "\\", " ", "\n", "\"x\":{},", "é", "-", "{\"k\":[",
    ])
    func worstCasesAreAnsweredInBoundedTime(unit: String) {
        for (before, after) in [
            ("", ""), ("{\"arrangements\":[", "]}"), ("{", "}"), ("{\"canvas\":{", "}}"), ("\"", "\""),
            ("{\"gap\":", "}"),
        ] {
            let repeats = (256 * 1024 - before.utf8.count - after.utf8.count) / unit.utf8.count
            let text = before + String(repeating: unit, count: repeats) + after
            let clock = ContinuousClock()
            let elapsed = clock.measure {
                #expect(throws: LayoutError.self) { try LayoutTemplate.decode(text.utf8, name: "worst") }
            }
            #expect(elapsed < .seconds(10), "\(before)\(unit)…")
        }
    }

    /// Tens of thousands of keys that are all nearly right, or all equal, are answered in bounded time.
    @Test(arguments: [true, false]) func keysWithoutEndAreAnsweredInBoundedTime(areEqual: Bool) throws {
        let members = (0..<15000).map { areEqual ? "\"arrangement\":1" : "\"marginn\($0)\":1" }
        let clock = ContinuousClock()
        var error: LayoutError?
        let elapsed = clock.measure {
            error = #expect(throws: LayoutError.self) {
                try LayoutTemplate.decode("{\(members.joined(separator: ","))}".utf8, name: "worst")
            }
        }
        #expect(error?.issues.count == 201)
        #expect(elapsed < .seconds(10))
    }
}
