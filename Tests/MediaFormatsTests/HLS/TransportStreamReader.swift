@testable import EncodedMedia
@testable import MediaFormats

/// Parses a transport stream as a player would, and records its faults.
struct TransportStreamReader {
    struct Packet: Hashable {
        var track: Track
        var pts: Int64
        var dts: Int64
        var payload: [UInt8]
        var isRandomAccess: Bool
    }

    private(set) var packets: [Packet] = []
    private(set) var complaints: [String] = []
    /// Program clocks, in units of 90 kHz.
    private(set) var clocks: [Int64] = []
    private(set) var streamTypes: [UInt8] = []
    /// Identifier of the packets that carry the clock, by the tables.
    private var clockIdentifier: UInt16?
    private var counters: [UInt16: UInt8] = [:]
    private var open: [UInt16: (bytes: [UInt8], isRandomAccess: Bool)] = [:]

    mutating func read(_ bytes: [UInt8]) {
        if bytes.count % 188 != 0 { complaints.append("\(bytes.count) bytes are no whole packets") }
        if bytes.count >= 376, (bytes[1] & 0x1F, bytes[2]) != (0, 0) || bytes[189] & 0x1F != 0x10 {
            complaints.append("a segment does not begin with its tables")
        }
        for start in stride(from: 0, to: bytes.count / 188 * 188, by: 188) { packet(Array(bytes[start..<start + 188])) }
        for identifier in open.keys.sorted() { finish(identifier) }
    }

    private mutating func packet(_ bytes: [UInt8]) {
        if bytes[0] != 0x47 { complaints.append("no sync byte") }
        let identifier = UInt16(bytes[1] & 0x1F) << 8 | UInt16(bytes[2])
        let counter = bytes[3] & 0x0F
        // Packets without payload are not counted.
        let step: UInt8 = bytes[3] & 0x10 != 0 ? 1 : 0
        if let last = counters[identifier], (last + step) & 0x0F != counter {
            complaints.append("counter of \(identifier) went from \(last) to \(counter)")
        }
        counters[identifier] = counter
        var position = 4
        var isRandomAccess = false
        if bytes[3] & 0x20 != 0 {
            let length = Int(bytes[4])
            if length > 0 {
                isRandomAccess = bytes[5] & 0x40 != 0
                if bytes[5] & 0x10 != 0 {
                    if identifier != clockIdentifier { complaints.append("\(identifier) has a clock") }
                    clocks.append(bytes[6..<10].reduce(Int64(0)) { $0 << 8 | Int64($1) } << 1 | Int64(bytes[10] >> 7))
                }
            }
            position = 5 + length
        }
        let isStart = bytes[1] & 0x40 != 0
        let payload = bytes[position...]
        switch identifier {
        case 0, ProgramTables.mapIdentifier: section(Array(payload.dropFirst()), isMap: identifier != 0)
        default:
            if isStart {
                finish(identifier)
                open[identifier] = ([], isRandomAccess)
            }
            open[identifier]?.bytes += payload
        }
    }

    private mutating func section(_ bytes: [UInt8], isMap: Bool) {
        let length = Int(bytes[1] & 0x0F) << 8 | Int(bytes[2])
        // Over the whole section with its checksum, the register ends at 0.
        if ProgramTables.checksum(Array(bytes[..<(3 + length)])) != 0 {
            complaints.append("a section's checksum is wrong")
        }
        guard isMap else { return }
        clockIdentifier = UInt16(bytes[8] & 0x1F) << 8 | UInt16(bytes[9])
        streamTypes = stride(from: 12, to: 3 + length - 4, by: 5).map { bytes[$0] }
    }

    private mutating func finish(_ identifier: UInt16) {
        guard let (bytes, isRandomAccess) = open.removeValue(forKey: identifier) else { return }
        guard bytes.starts(with: [0, 0, 1]) else { return complaints.append("a PES packet has no start code") }
        let length = Int(bytes[4]) << 8 | Int(bytes[5])
        if length == 0, identifier != ProgramTables.videoIdentifier {
            complaints.append("a PES packet of \(identifier) has no length, which only video may omit")
        }
        if length > 0, length + 6 != bytes.count {
            complaints.append("a PES packet says \(length), has \(bytes.count - 6)")
        }
        func time(_ at: Int) -> Int64 {
            Int64(bytes[at] >> 1 & 7) << 30 | Int64(bytes[at + 1]) << 22 | Int64(bytes[at + 2] >> 1) << 15
                | Int64(bytes[at + 3]) << 7 | Int64(bytes[at + 4] >> 1)
        }
        let pts = time(9)
        packets.append(
            Packet(
                track: identifier == ProgramTables.videoIdentifier ? .video : .audio, pts: pts,
                dts: bytes[7] & 0x40 != 0 ? time(14) : pts, payload: Array(bytes[(9 + Int(bytes[8]))...]),
                isRandomAccess: isRandomAccess))
    }
}
