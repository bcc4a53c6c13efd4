/// Comparison and splitting of text by its bytes.
///
/// Swift compares strings by canonical equivalence, and a `Character` includes its combining marks. By these rules, two
/// names that are different in a store may be equal, and a separator followed by a combining mark is not found.
extension String {
    /// Returns whether both strings have the same UTF-8.
    public func hasSameUTF8(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes(other, Self.areSame) ?? utf8.elementsEqual(other.utf8)
    }

    /// Returns whether the buffers are equal. Compares eight bytes at a time, because every lookup in a dictionary of
    /// rooms uses it.
    private static func areSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
        guard left.count == right.count else { return false }
        var place = 0
        while place + 8 <= left.count {
            guard
                left.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                    == right.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            else { return false }
            place += 8
        }
        while place < left.count {
            guard left[place] == right[place] else { return false }
            place += 1
        }
        return true
    }

    /// Returns whether this string's UTF-8 precedes the other's byte by byte, the order in which a store sorts.
    public func precedesInUTF8(_ other: String) -> Bool {
        withBytes(other) { $0.lexicographicallyPrecedes($1) } ?? utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// Feeds the UTF-8 to a hasher.
    public func hashUTF8(into hasher: inout Hasher) {
        // A byte that never occurs in UTF-8, so that two consecutive texts are not hashed as one.
        defer { hasher.combine(0xFF as UInt8) }
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
    }

    /// Calls `body` with the bytes of both strings; returns `nil` if one of them is not stored as contiguous UTF-8.
    private func withBytes<Result>(
        _ other: String, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { body(own, $0) }
        } ?? nil
    }
}

// Inlinable, because a generic function that is not specialised costs an event several microseconds.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Returns the text before and after the first separator, an ASCII character; `nil` if there is none.
    @inlinable
    public func splitAtFirst(_ separator: Unicode.Scalar) -> (head: SubSequence, tail: SubSequence)? {
        utf8.firstIndex(of: UInt8(ascii: separator)).map { (self[..<$0], self[utf8.index(after: $0)...]) }
    }

    /// Returns the text before and after the last separator, an ASCII character; `nil` if there is none.
    @inlinable
    public func splitAtLast(_ separator: Unicode.Scalar) -> (head: SubSequence, tail: SubSequence)? {
        utf8.lastIndex(of: UInt8(ascii: separator)).map { (self[..<$0], self[utf8.index(after: $0)...]) }
    }

    /// Returns whether the UTF-8 begins with that of a prefix.
    @inlinable
    public func startsInUTF8(with prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Returns whether the UTF-8 ends with that of a suffix.
    @inlinable
    public func endsInUTF8(with suffix: some StringProtocol) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}

/// Text as a key, compared by its UTF-8.
public struct UTF8Key: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (left: UTF8Key, right: UTF8Key) -> Bool { left.text.hasSameUTF8(as: right.text) }
    public func hash(into hasher: inout Hasher) { text.hashUTF8(into: &hasher) }
}
