import Foundation
import LayoutEngine
import TestSupport
import Testing

/// Mutated templates: the decoder answers each one, and what it accepts makes sound scenes.
struct DecodingFuzzTests {
    private static let fragments = [
        "{", "}", "[", "]", ":", ",", "\"", "\\u", "\\ud800", "null", "true", "-", "1e308", "1e-400", "0.0000001", "-0",
        "99999999999999999999", "\"panes\"", "\"slot\"", "\"when\"", "\"people\"", "\"min\"", "\"z\"", "\u{0}", "é",
        "\n",
    ]

    private static let base = """
        {"gap":0.02,"canvas":{"width":64,"height":64,"fps":20,"background":"#000000"},"arrangements":[
        {"when":{"people":{"min":1,"max":2}},"panes":[{"slot":1,"x":0,"y":0,"width":0.5,"height":1},
        {"role":"host","x":0.25,"y":0.25,"width":0.5,"height":0.5,"z":3,"fit":"contain"}]},
        {"when":{"people":{"max":4}},"algorithm":"picture-in-picture","corner":"top-left","size":0.2},
        {"algorithm":"grid","tileAspect":"16:9","margin":0.1}]}
        """

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { return }
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0...5, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...12, using: &random)))
            case 3: bytes.insert(contentsOf: (fragments.randomElement(using: &random) ?? "").utf8, at: index)
            case 4:
                // Another number in place of a digit keeps the file readable and moves values over their limits.
                if UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index] {
                    bytes[index] = UInt8.random(in: UInt8(ascii: "0")...UInt8(ascii: "9"), using: &random)
                }
            default:
                let end = min(bytes.count, index + Int.random(in: 1...60, using: &random))
                bytes.insert(contentsOf: Array(bytes[index..<end]), at: Int.random(in: bytes.indices, using: &random))
            }
        }
    }

    @Test func mutatedTemplatesAreAnswered() {
        let count = ProcessInfo.processInfo.environment["LAYOUT_FUZZ_COUNT"].flatMap(UInt64.init) ?? 20_000
        var accepted = 0
        for seed in 1...max(count, 1) {
            var random = SeededGenerator(seed: seed)
            var bytes = Array(Self.base.utf8)
            Self.mutate(&bytes, &random)
            do {
                let template = try LayoutTemplate.decode(bytes, name: "fuzz")
                accepted += 1
                for people in [people(1), people(2), people(5)] {
                    let scene = LayoutEngine.plan(template, participants: people, canvas: .portrait)
                    #expect(flaws(of: scene) == [], "seed \(seed)")
                }
            } catch {
                #expect(!error.issues.isEmpty, "seed \(seed)")
                #expect(error.issues.allSatisfy { $0.line >= 1 && $0.column >= 1 }, "seed \(seed)")
            }
        }
        // Neither all nor none: otherwise the mutations test one half of the decoder only.
        #expect(accepted > Int(count) / 50 && accepted < Int(count), "\(accepted) of \(count) accepted")
    }
}
