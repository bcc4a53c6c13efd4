import EncodedMedia
import Testing

@testable import MediaFormats

@Suite struct ProgramPacketsTests {
    private static let sound = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])

    private static func frame(_ milliseconds: Int) -> EncodedFrame {
        let time = MediaTime.milliseconds(milliseconds)
        return EncodedFrame(
            track: .audio, pts: time, dts: time, isIDR: false, payload: [UInt8](repeating: 7, count: 300))
    }

    /// Returns the identifiers of the packets, in order.
    private static func identifiers(_ bytes: [UInt8]) -> [UInt16] {
        stride(from: 0, to: bytes.count, by: 188).map { UInt16(bytes[$0 + 1] & 0x1F) << 8 | UInt16(bytes[$0 + 2]) }
    }

    @Test func nothingIsWrittenWithoutAFrame() {
        var packets = ProgramPackets()
        #expect(packets.bytes(of: []).isEmpty && packets.bytes(of: [.configuration(Self.sound)]).isEmpty)
    }

    @Test func tablesComeFirstAndTenTimesASecond() {
        var packets = ProgramPackets()
        var tables: [Int] = []
        for index in 0..<100 {
            let items: [MediaItem] = (index == 0 ? [.configuration(Self.sound)] : []) + [.frame(Self.frame(index * 20))]
            let bytes = packets.bytes(of: items)
            #expect(bytes.count % 188 == 0 && bytes.first == 0x47)
            if Self.identifiers(bytes).first == 0 { tables.append(index * 20) }
            #expect(Self.identifiers(bytes).contains(0x101))
        }
        #expect(tables == Array(stride(from: 0, to: 2000, by: 100)))
    }

    /// After a time that steps back, or another configuration, the packets begin with tables.
    @Test func receiversCanBeginAfterAChange() {
        var packets = ProgramPackets()
        _ = packets.bytes(of: [.configuration(Self.sound), .frame(Self.frame(5000))])
        #expect(Self.identifiers(packets.bytes(of: [.frame(Self.frame(5020))])).first == 0x101)
        #expect(Self.identifiers(packets.bytes(of: [.frame(Self.frame(40))])).first == 0)
        let other = CodecConfiguration(track: .audio, bytes: [0x12, 0x10])
        let bytes = packets.bytes(of: [.frame(Self.frame(60)), .configuration(other), .frame(Self.frame(80))])
        #expect(Self.identifiers(bytes).first == 0x101 && Self.identifiers(bytes).contains(0))
    }

    @Test func countersGoOn() {
        var packets = ProgramPackets()
        var last: [UInt16: UInt8] = [:]
        for index in 0..<60 {
            let items: [MediaItem] = (index == 0 ? [.configuration(Self.sound)] : []) + [.frame(Self.frame(index * 20))]
            let bytes = packets.bytes(of: items)
            for (position, identifier) in zip(stride(from: 0, to: bytes.count, by: 188), Self.identifiers(bytes)) {
                let counter = bytes[position + 3] & 0x0F
                if let before = last[identifier] { #expect(counter == (before + 1) & 0x0F) }
                last[identifier] = counter
            }
        }
        #expect(last.keys.sorted() == [0, 0x101, 0x1000])
    }
}
