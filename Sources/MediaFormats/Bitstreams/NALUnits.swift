import EncodedMedia

/// The NAL units of one access unit, each preceded by its length (ISO/IEC 14496-15 §5.3.4.2, §8.3.4.2).
public struct NALUnits: Sequence, Sendable {
    private let bytes: [UInt8]
    private let lengthSize: Int

    /// - Parameter lengthSize: Bytes of each length, 1…4, from the configuration record.
    public init(_ bytes: [UInt8], lengthSize: Int = 4) {
        self.bytes = bytes
        self.lengthSize = lengthSize
    }

    public func containsIDR(of codec: VideoCodec = .h264) -> Bool {
        contains { NALUnitKind($0, codec) == .idrSlice }
    }

    public func makeIterator() -> Iterator { Iterator(bytes: bytes, lengthSize: lengthSize) }

    /// Iterates over the units and stops at the first incomplete one.
    public struct Iterator: IteratorProtocol {
        package let bytes: [UInt8]
        package let lengthSize: Int
        package var position = 0

        /// Returns the next unit with its header but without its length.
        public mutating func next() -> ArraySlice<UInt8>? {
            guard let length = bytes.bigEndian(Int.self, at: position, bytes: lengthSize) else { return nil }
            let start = position + lengthSize
            guard length > 0, start + length <= bytes.count else { return nil }
            position = start + length
            return bytes[start..<position]
        }
    }
}
