/// The window of an AAC frame's first channel (ISO/IEC 14496-3 §4.4.2), read without decoding the frame.
///
/// A decoder adds the end of a frame, under the end of its window, to the beginning of the next one. The aliasing of
/// both cancels only if these two slopes have the same length. An encoder sees to that within its own stream.
package struct AACWindow: Hashable, Sendable {
    /// `window_sequence`.
    package enum Sequence: UInt8, Hashable, Sendable { case onlyLong, longStart, eightShort, longStop }

    package let sequence: Sequence

    /// Whether the window begins with the long slope.
    package var beginsLong: Bool { sequence == .onlyLong || sequence == .longStart }
    /// Whether the window ends with the long slope.
    package var endsLong: Bool { sequence == .onlyLong || sequence == .longStop }

    /// Returns whether the aliasing of a frame with this window cancels that of a next frame with window `next`.
    package func joins(_ next: AACWindow) -> Bool { endsLong == next.beginsLong }

    /// Reads a raw data block of AAC Main, LC, SSR or LTP; `nil` if its first channel is not found.
    package init?(_ frame: [UInt8]) {
        guard let sequence = Self.sequence(of: frame) else { return nil }
        self.sequence = sequence
    }

    /// Number of elements without a channel that may precede the first channel.
    private static let mostElements = 8

    private static func sequence(of frame: [UInt8]) -> Sequence? {
        var bits = BitReader(frame)
        // `id_syn_ele` and, except in fill elements, `element_instance_tag`.
        for _ in 0...mostElements {
            switch bits.read(3) {
            case 0:
                // A single channel: `global_gain` precedes the window.
                bits.skip(4 + 8)
                return information(&bits)
            case 1:
                // A pair: with `common_window`, the window precedes both channels.
                bits.skip(4)
                if !bits.flag() { bits.skip(8) }
                return information(&bits)
            case 4:
                bits.skip(4)
                let isAligned = bits.flag()
                var count = Int(bits.read(8))
                if count == 255 { count += Int(bits.read(8)) }
                if isAligned { bits.align() }
                bits.skip(8 * count)
            case 6:
                var count = Int(bits.read(4))
                if count == 15 { count += Int(bits.read(8)) - 1 }
                bits.skip(8 * count)
            default: return nil
            }
        }
        return nil
    }

    /// Reads the beginning of `ics_info`.
    private static func information(_ bits: inout BitReader) -> Sequence? {
        let isReserved = bits.flag()
        let sequence = Sequence(rawValue: UInt8(truncatingIfNeeded: bits.read(2)))
        return isReserved || bits.isPastEnd ? nil : sequence
    }
}
