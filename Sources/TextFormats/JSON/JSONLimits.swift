/// Limits of a JSON document beside its grammar.
package struct JSONLimits: Sendable {
    /// The longest document, in bytes.
    package var longest: Int
    /// The most arrays and objects inside each other.
    package var deepest: Int
    /// Whether other values count as well: inside of `deepest` arrays and objects there is none.
    package var countsScalars: Bool
    /// The longest key, in bytes of UTF-8. Long keys are costly to hash and compare.
    package var longestKey: Int
    /// The most members of one object.
    package var mostMembers: Int
    /// Whether a key may occur only once in an object. Two readers could take different ones.
    package var refusesRepeatedKeys: Bool
    /// Whether a number ends behind a leading zero, so that the error is the digit that follows.
    package var endsNumbersAtZero: Bool

    package init(
        longest: Int = .max, deepest: Int, countsScalars: Bool = false, longestKey: Int = .max,
        mostMembers: Int = .max, refusesRepeatedKeys: Bool = false, endsNumbersAtZero: Bool = false
    ) {
        self.longest = longest
        self.deepest = deepest
        self.countsScalars = countsScalars
        self.longestKey = longestKey
        self.mostMembers = mostMembers
        self.refusesRepeatedKeys = refusesRepeatedKeys
        self.endsNumbersAtZero = endsNumbersAtZero
    }
}
