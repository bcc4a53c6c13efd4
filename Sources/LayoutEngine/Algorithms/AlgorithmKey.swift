/// A key of an algorithm in a layout file, as the schema and `layouts/README.md` describe it.
struct AlgorithmKey: Hashable, Sendable {
    /// The values that are allowed.
    enum Values: Hashable, Sendable {
        case words([String])
        case number(ClosedRange<Double>)
        case integer(ClosedRange<Int>)
        /// A ratio of sides such as `"16:9"`.
        case aspect
    }

    /// The value that applies if the key is absent.
    enum Default: Hashable, Sendable {
        case word(String)
        case number(Double)
    }

    var name: String
    var values: Values
    /// The default; `nil` if the absence of the key has its own meaning.
    var defaultValue: Default?
    /// The meaning of the key, without a full stop. The names of the algorithms precede it.
    var summary: String

    static func words<Word: RawRepresentable & CaseIterable>(
        _ name: String, default word: Word, _ summary: String
    ) -> AlgorithmKey where Word.RawValue == String {
        AlgorithmKey(
            name: name, values: .words(Word.allCases.map(\.rawValue)), defaultValue: .word(word.rawValue),
            summary: summary)
    }

    static func number(
        _ name: String, in range: ClosedRange<Double>, default fraction: UnitFraction, _ summary: String
    ) -> AlgorithmKey {
        AlgorithmKey(name: name, values: .number(range), defaultValue: .number(fraction.value), summary: summary)
    }

    static func integer(
        _ name: String, in range: ClosedRange<Int>, default number: Int, _ summary: String
    ) -> AlgorithmKey {
        AlgorithmKey(name: name, values: .integer(range), defaultValue: .number(Double(number)), summary: summary)
    }

    /// The key for the shape of tiles that `LayoutSpace.grid` makes.
    static let tileAspect = AlgorithmKey(
        name: "tileAspect", values: .aspect,
        summary:
            "the shape of a tile, such as \"16:9\"; without it tiles fill their cells between 9:16 and 16:9")
}
