import TestSupport
import Testing

@testable import LayoutEngine

extension Algorithm {
    /// Every algorithm with its defaults, and with each word of each of its keys.
    static let examples: [Algorithm] = LayoutAlgorithms.all.flatMap { type in
        let words = type.keys.flatMap { key in
            if case .words(let words) = key.values { words.map { "\"\(key.name)\": \"\($0)\"" } } else { [String]() }
        }
        return ([""] + words).map { member in Algorithm(named: type.name, member) }
    }

    /// Creates an algorithm as a file does: from its name and the members for its keys.
    init(named name: String, _ members: String...) {
        self.init(named: name, members)
    }

    init(named name: String, _ members: [String]) {
        let members = (["\"algorithm\": \"\(name)\""] + members.filter { !$0.isEmpty }).joined(separator: ", ")
        do {
            let template = try LayoutTemplate.decode("{\"arrangements\": [{\(members)}]}".utf8, name: name)
            if case .algorithm(let algorithm, _) = template.arrangements.first?.placement {
                self = algorithm
                return
            }
        } catch {
            Issue.record("\(error)")
        }
        self = .solo
    }
}

extension SeededGenerator {
    /// Returns any algorithm, with any value for some of its keys.
    mutating func algorithm() -> Algorithm {
        guard let type = LayoutAlgorithms.all.randomElement(using: &self) else { return .solo }
        var members: [String] = []
        for key in type.keys where chance(1, of: 2) {
            let value =
                switch key.values {
                case .words(let words): "\"\(words.randomElement(using: &self) ?? "")\""
                case .number(let range): "\(Double.random(in: range, using: &self))"
                case .integer(let range): "\(Int.random(in: range, using: &self))"
                case .aspect: "\"\(Int.random(in: 1...100, using: &self)):\(Int.random(in: 1...100, using: &self))\""
                }
            members.append("\"\(key.name)\": \(value)")
        }
        return Algorithm(named: type.name, members)
    }
}

struct AlgorithmTests {
    @Test func namesAndKeysAreUnambiguous() {
        #expect(Set(LayoutAlgorithms.names).count == LayoutAlgorithms.all.count)
        for key in LayoutAlgorithms.keys {
            let values = LayoutAlgorithms.all.flatMap { $0.keys }.filter { $0.name == key }.map(\.values)
            #expect(Set(values).count == 1, "\(key) takes the same values wherever it stands, as the schema says")
        }
        for algorithm in LayoutAlgorithms.all {
            #expect(1...2 ~= algorithm.levels, "the `z` of a rest leaves room for two")
            #expect(Set(algorithm.keys.map(\.name)).count == algorithm.keys.count)
        }
    }

    @Test func equalityIsThatOfTheAlgorithmsValues() {
        #expect(Algorithm.grid(tileAspect: nil) == .grid(tileAspect: nil))
        #expect(Algorithm.grid(tileAspect: nil) != .grid(tileAspect: Aspect("16:9")))
        #expect(Algorithm.solo != .sideBySide)
        #expect(Set([Algorithm.stack(.vertical), .stack(.horizontal), .stack(.vertical), .solo]).count == 3)
        #expect(Algorithm(named: "spotlight", "\"max\": 3") == .spotlight(.init(most: 3)))
    }

    @Test(arguments: Algorithm.examples) func everyLevelOfAPlanIsBelowTheNumberOfLevels(_ algorithm: Algorithm) {
        for canvas in [Canvas.portrait, .landscape] {
            let scene = LayoutEngine.plan(LayoutTemplate(algorithm), participants: people(16), canvas: canvas)
            #expect(flaws(of: scene) == [])
            #expect(scene.panes.allSatisfy { 0..<algorithm.levels ~= $0.z })
        }
    }
}
