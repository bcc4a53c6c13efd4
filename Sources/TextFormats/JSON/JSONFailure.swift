import Foundation

/// An error in a JSON document.
package struct JSONFailure: Error {
    /// The requirement that the document violates at the position of the error. Cases carry no values: a small error
    /// costs less in every function that can throw it.
    package enum Problem: Hashable, Sendable {
        case value
        case wordTrue
        case wordFalse
        case wordNull
        case key
        /// A key, or the end of an object that has none.
        case keyOrBrace
        case colon
        case commaOrBrace
        case commaOrBracket
        case endOfDocument

        /// The digits of a number's integral part: none, or more after a zero.
        case integer
        case digit
        /// A number beyond the range of a double.
        case range

        case quotationMark
        case controlCharacter
        case escape
        case hexadecimalDigits
        /// Half of a surrogate pair without the other half.
        case surrogate
        /// The first half of a surrogate pair followed by another escape.
        case secondSurrogate
        case utf8
        case marks

        case length
        case depth
        case keyLength
        case members
        case repeatedKey
    }

    package var problem: Problem
    /// The place at which reading stopped, in bytes from the start.
    package var offset: Int
    /// The start of the number, string, key or `u` escape at fault, otherwise `offset`.
    package var start: Int
}

/// A place in a document. Lines and columns are counted from 1, columns in bytes.
package struct JSONPosition: Hashable, Comparable, Sendable {
    /// Bytes from the start.
    package var offset: Int
    package var line: Int
    package var column: Int

    init(offset: Int, line: Int, column: Int) {
        self.offset = offset
        self.line = line
        self.column = column
    }

    /// Finds the line of an offset. An offset beyond the end counts as in the last line.
    package init(of offset: Int, in bytes: some Collection<UInt8>) {
        let last =
            bytes.withContiguousStorageIfAvailable { Self.lastLine(before: offset, in: $0) }
            ?? Array(bytes).withUnsafeBufferPointer { Self.lastLine(before: offset, in: $0) }
        self.init(offset: offset, line: last.number, column: offset - last.start + 1)
    }

    /// Returns the number and the first byte of the line that holds `offset`. Uses `memchr`, which keeps a megabyte
    /// cheap even in builds without optimisation.
    private static func lastLine(before offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> (number: Int, start: Int)
    {
        var (number, start) = (1, 0)
        let end = min(offset, bytes.count)
        while start < end, let base = bytes.baseAddress,
            let newline = memchr(base + start, Int32(UInt8(ascii: "\n")), end - start)
        {
            number += 1
            start = UnsafeRawPointer(newline) - UnsafeRawPointer(base) + 1
        }
        return (number, start)
    }

    package static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
}
