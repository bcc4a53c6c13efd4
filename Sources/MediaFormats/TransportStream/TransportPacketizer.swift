/// Cuts one elementary stream's PES packets or sections into packets of 188 bytes (ISO/IEC 13818-1 §2.4.3).
struct TransportPacketizer: Sendable {
    let identifier: UInt16
    private var counter: UInt8 = 0

    static let packetLength = 188

    /// The signals in the first packet of a payload.
    struct Adaptation {
        /// Time by the program clock, in units of 90 kHz.
        var clock: Int64?
        var isRandomAccess = false
        /// Whether the clock and the counters restart.
        var isDiscontinuity = false
    }

    init(identifier: UInt16) { self.identifier = identifier }

    mutating func write(_ payload: [UInt8], _ adaptation: Adaptation = Adaptation(), into output: inout [UInt8]) {
        var position = 0
        repeat {
            var field = position == 0 ? Self.field(adaptation) : []
            let room = Self.packetLength - 4
            let rest = payload.count - position
            if field.count + rest < room { Self.stuff(&field, to: room - rest) }
            let count = min(rest, room - field.count)
            output.append(0x47)
            output.append((position == 0 ? 0x40 : 0) | UInt8(truncatingIfNeeded: identifier >> 8))
            output.append(UInt8(truncatingIfNeeded: identifier))
            output.append((field.isEmpty ? 0x10 : 0x30) | counter)
            output += field
            output += payload[position..<position + count]
            counter = (counter + 1) & 0x0F
            position += count
        } while position < payload.count
    }

    /// Writes a packet of signals alone, which has the number of the packet before it (§2.4.3.3).
    func write(_ adaptation: Adaptation, into output: inout [UInt8]) {
        var field = Self.field(adaptation)
        Self.stuff(&field, to: Self.packetLength - 4)
        output.append(0x47)
        output.append(UInt8(truncatingIfNeeded: identifier >> 8))
        output.append(UInt8(truncatingIfNeeded: identifier))
        output.append(0x20 | ((counter &- 1) & 0x0F))
        output += field
    }

    /// Returns the adaptation field with its length (§2.4.3.4); empty if there is nothing to signal.
    private static func field(_ adaptation: Adaptation) -> [UInt8] {
        guard adaptation.clock != nil || adaptation.isRandomAccess || adaptation.isDiscontinuity else { return [] }
        var field: [UInt8] = [
            0,
            (adaptation.isDiscontinuity ? 0x80 : 0) | (adaptation.isRandomAccess ? 0x40 : 0)
                | (adaptation.clock == nil ? 0 : 0x10),
        ]
        if let clock = adaptation.clock {
            // 33 bits at 90 kHz, 6 reserved, 9 bits at 27 MHz, which are 0.
            let base = UInt64(bitPattern: clock) & 0x1_FFFF_FFFF
            for shift in [25, 17, 9, 1] as [UInt64] { field.append(UInt8(truncatingIfNeeded: base >> shift)) }
            field += [UInt8(truncatingIfNeeded: base & 1) << 7 | 0x7E, 0]
        }
        field[0] = UInt8(field.count - 1)
        return field
    }

    private static func stuff(_ field: inout [UInt8], to length: Int) {
        if field.isEmpty { field = length == 1 ? [0] : [0, 0] }
        field += [UInt8](repeating: 0xFF, count: length - field.count)
        field[0] = UInt8(length - 1)
    }
}
