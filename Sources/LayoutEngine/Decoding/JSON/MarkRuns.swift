extension String {
    /// Combining marks in a row that text may have; Unicode's stream-safe format (UAX #15) has 30.
    public static let mostMarksInARow = 64

    /// Whether more combining marks than `mostMarksInARow` follow one another.
    ///
    /// Comparing and hashing put the marks of a letter into canonical order, in a time that grows with the square of their
    /// number: a megabyte of them takes minutes. Text from outside that has so many is refused before it is compared.
    public var hasTooManyMarks: Bool {
        guard utf8.count > 2 * Self.mostMarksInARow else { return false }
        var count = 0
        for scalar in unicodeScalars {
            // Below U+0300 there is no mark; the properties of the others are slow.
            guard scalar.value >= 0x300, scalar.properties.isGraphemeExtend || scalar.isReordered else {
                count = 0
                continue
            }
            count += 1
            if count > Self.mostMarksInARow { return true }
        }
        return false
    }
}

extension Unicode.Scalar {
    fileprivate var isReordered: Bool { properties.canonicalCombiningClass != .notReordered }
}
