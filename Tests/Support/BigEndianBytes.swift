/// Returns the low `count` bytes of a number, the most significant one first. It does not use the code under test.
public func bigEndianBytes(_ value: some FixedWidthInteger, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}
