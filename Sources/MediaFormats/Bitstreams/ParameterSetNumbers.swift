/// Renumbers the parameter sets of an H.264 stream, in the sets and in the slices that refer to them.
///
/// Encoders whose number cannot be set use 0, as nearly all publishers do. The picture itself is not touched: PPS `n`
/// becomes `16 n + 15`, whose Exp-Golomb code is longer by exactly 8 bits, so that everything after it in a slice moves
/// by a byte and keeps its alignment. SEI messages are dropped, because some refer to an SPS and none is needed.
package struct ParameterSetNumbers: Hashable, Sendable {
    /// The number that every SPS gets, 0…31.
    package let sequence: UInt32

    /// Largest number of a PPS that can be changed; the new one must not exceed 255.
    package static let largestPicture: UInt32 = 15

    package init(sequence: UInt32) { self.sequence = sequence }

    /// Returns the number that a PPS gets.
    package static func picture(_ old: UInt32) -> UInt32 { 16 * old + 15 }

    /// Renumbers an AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1). `nil` if it cannot be read or has a
    /// number beyond `largestPicture`.
    package func record(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 7, bytes[0] == 1 else { return nil }
        var result = Array(bytes.prefix(5))
        var position = 5
        for countMask: UInt8 in [0x1F, 0xFF] {
            guard position < bytes.count else { return nil }
            result.append(bytes[position])
            let count = bytes[position] & countMask
            position += 1
            for _ in 0..<count {
                guard let length = bytes.bigEndian(Int.self, at: position, bytes: 2), length > 0,
                    position + 2 + length <= bytes.count,
                    let set = unit(bytes[position + 2..<position + 2 + length]), set.count <= 0xFFFF
                else { return nil }
                result.appendBigEndian(set.count, bytes: 2)
                result += set
                position += 2 + length
            }
        }
        return result + bytes[position...]
    }

    /// Renumbers an access unit whose NAL units are preceded by `lengthSize` bytes of length; the result uses lengths
    /// of the same size. `nil` if one cannot be read or has a number beyond `largestPicture`.
    package func accessUnit(_ bytes: [UInt8], lengthSize: Int = 4) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for old in NALUnits(bytes, lengthSize: lengthSize) where old.first.map({ $0 & 31 }) != 6 {
            guard let new = unit(old), new.count < 1 << (8 * min(lengthSize, 4)) else { return nil }
            result.appendBigEndian(new.count, bytes: lengthSize)
            result += new
        }
        return result
    }

    /// Renumbers a NAL unit; `nil` if it cannot be read.
    private func unit(_ unit: ArraySlice<UInt8>) -> [UInt8]? {
        guard let header = unit.first else { return nil }
        switch header & 31 {
        case 1, 5: return slice(header, BitReader.payload(of: unit.dropFirst()))
        case 7:
            // After profile_idc, constraints and level_idc.
            var payload = RBSP(unit.dropFirst())
            guard payload.skip(24), payload.replaceExpGolomb(with: { _ in sequence }) else { return nil }
            return [header] + payload.escaped
        case 8:
            var payload = RBSP(unit.dropFirst())
            guard payload.replaceExpGolomb(with: Self.newPicture), payload.replaceExpGolomb(with: { _ in sequence })
            else { return nil }
            return [header] + payload.escaped
        default: return Array(unit)
        }
    }

    private static func newPicture(_ old: UInt32) -> UInt32? { old <= largestPicture ? picture(old) : nil }

    /// Renumbers a slice: only its header up to the number of the PPS is read bit by bit.
    private func slice(_ header: UInt8, _ payload: [UInt8]) -> [UInt8]? {
        // first_mb_in_slice, slice_type, pic_parameter_set_id: at most 31 bits each.
        let head = payload.prefix(12)
        var bits = RBSP(payload: head)
        guard bits.skipExpGolomb(), bits.skipExpGolomb(), bits.replaceExpGolomb(with: Self.newPicture) else {
            return nil
        }
        return [header] + RBSP.escape(bits.bytes + payload.dropFirst(head.count))
    }
}

/// The bits of a NAL unit's payload, with a read position.
private struct RBSP {
    private var bits: [Bool]
    private var position = 0

    /// Removes emulation prevention bytes and everything after the stop bit.
    init(_ bytes: ArraySlice<UInt8>) {
        self.init(payload: BitReader.payload(of: bytes)[...])
        guard let stop = bits.lastIndex(of: true) else { return }
        bits.removeSubrange((stop + 1)...)
    }

    init(payload: ArraySlice<UInt8>) {
        bits = payload.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } }
    }

    /// Inserts emulation prevention bytes (ITU-T H.264 §7.4.1).
    static func escape(_ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(payload.count + 16)
        var zeros = 0
        for byte in payload {
            if zeros >= 2, byte <= 3 {
                bytes.append(3)
                zeros = 0
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bytes.append(byte)
        }
        if bytes.last == 0 { bytes.append(3) }
        return bytes
    }

    /// The bits, padded with zeros to whole bytes.
    var bytes: [UInt8] {
        stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 << 1 | (start + $1 < bits.count && bits[start + $1] ? 1 : 0) }
        }
    }
    var escaped: [UInt8] { Self.escape(bytes) }

    mutating func skip(_ count: Int) -> Bool {
        position += count
        return position <= bits.count
    }

    mutating func skipExpGolomb() -> Bool {
        guard let length = codeLength else { return false }
        position += length
        return true
    }

    /// Replaces the ue(v) at the position, and advances past it.
    mutating func replaceExpGolomb(with new: (UInt32) -> UInt32?) -> Bool {
        guard let length = codeLength else { return false }
        let value = bits[position..<position + length].reduce(UInt64(0)) { $0 << 1 | ($1 ? 1 : 0) } - 1
        guard let replacement = new(UInt32(value)) else { return false }
        let code = UInt64(replacement) + 1
        let width = 64 - code.leadingZeroBitCount
        let written = [Bool](repeating: false, count: width - 1) + (0..<width).map { code >> (width - 1 - $0) & 1 == 1 }
        bits.replaceSubrange(position..<position + length, with: written)
        position += written.count
        return true
    }

    /// Length of the ue(v) at the position, in bits; `nil` if it is incomplete or longer than 31 bits.
    private var codeLength: Int? {
        guard let one = bits[position...].firstIndex(of: true), one - position <= 15 else { return nil }
        let length = 2 * (one - position) + 1
        return position + length <= bits.count ? length : nil
    }
}
