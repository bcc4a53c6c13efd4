/// Limits of a JSON document in addition to its grammar.
package struct JSONLimits: Sendable {
    /// The longest document, in bytes.
    package var longest: Int
    /// The deepest nesting of arrays and objects.
    package var deepest: Int
    /// Whether other values count as a level as well, so that none may be inside `deepest` arrays and objects.
    package var countsScalars: Bool
    /// The longest key, in bytes of UTF-8. Long keys are costly to hash and compare.
    package var longestKey: Int
    /// The maximum number of members of one object.
    package var mostMembers: Int
    /// Whether a key may occur only once in an object. Otherwise two readers could use different values.
    package var refusesRepeatedKeys: Bool
    /// Whether a number ends after a leading zero, so that the following digit is the error.
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
