extension String {
    /// The maximum number of consecutive combining marks in text. Unicode's stream-safe format (UAX #15) allows 30.
    public static let mostMarksInARow = 64

    /// Whether more than `mostMarksInARow` combining marks follow one another.
    ///
    /// Comparing and hashing sort the marks of a letter into canonical order, in a time that grows with the square of
    /// their number: a megabyte of marks takes minutes. External text with too many marks is refused before it is
    /// compared.
    public var hasTooManyMarks: Bool {
        guard utf8.count > 2 * Self.mostMarksInARow else { return false }
        var count = 0
        for scalar in unicodeScalars {
            // There are no marks below U+0300, and the properties of other scalars are slow to look up.
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
