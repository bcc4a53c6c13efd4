import MediaSupport
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

@Suite struct TransportStreamTests {
    private let pictures = HLSProgram.video(1)
    private let sound = HLSProgram.audio

    @Test("every picture comes out whole, whatever its size, over as many segments as there are")
    func sizes() {
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        var sizes: [Int] = []
        // The sizes cover the boundaries of packets, with and without a clock in the first packet.
        for segment in 0..<20 {
            let frames = (0..<20).map { index in
                let size = segment * 20 + index + 1
                sizes.append(size)
                return HLSProgram.picture(
                    at: .milliseconds((segment * 20 + index) * 50), isIDR: index == 0, size: size)
            }
            reader.read(writer.segment(frames, video: pictures, audio: nil))
        }
        #expect(reader.complaints == [])
        #expect(reader.streamTypes == [0x1B])
        #expect(reader.packets.count == 400)
        for (packet, size) in zip(reader.packets, sizes) {
            // The payload is a delimiter, the slice with its start code, and SPS and PPS before an IDR.
            let sets = packet.isRandomAccess ? HLSProgram.parameterSetBytes(1) : 0
            #expect(packet.payload.count == 6 + 5 + size + sets)
            #expect(packet.payload.starts(with: [0, 0, 0, 1, 9]))
        }
        #expect(reader.packets.filter(\.isRandomAccess).count == 20)
    }

    @Test(
        "times are those of the program, also in its fourth day, when 33 bits have wrapped",
        arguments: [0, 95_443, 345_600])
    func times(second: Int) {
        let origin = MediaTime.seconds(Double(second))
        var frames: [EncodedFrame] = []
        for index in 0..<40 {
            // Pictures are decoded before they are displayed, as with B-frames.
            let dts = origin + .milliseconds(index * 40)
            frames.append(HLSProgram.picture(at: dts + .milliseconds(80), dts: dts, isIDR: index == 0, size: 300))
            frames.append(HLSProgram.sound(at: origin + .units(Int64(index) * 1920, rate: 48000)))
        }
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        reader.read(writer.segment(frames, video: pictures, audio: sound))
        #expect(reader.complaints == [])
        #expect(reader.streamTypes == [0x1B, 0x0F])
        func ticks(_ time: MediaTime) -> Int64 { TransportStreamWriter.ticks(time) & 0x1_FFFF_FFFF }
        let video = reader.packets.filter { $0.track == .video }
        #expect(video.map(\.pts) == frames.filter { $0.track == .video }.map { ticks($0.pts) })
        #expect(video.map(\.dts) == frames.filter { $0.track == .video }.map { ticks($0.dts) })
        #expect(reader.clocks.count == 40)
        for (clock, packet) in zip(reader.clocks, video) {
            #expect((packet.dts - clock) & 0x1_FFFF_FFFF == 27_000, "300 ms before the picture")
        }
        let audio = reader.packets.filter { $0.track == .audio }
        #expect(audio.first?.pts == ticks(frames[1].pts))
        // All AAC frames, each with its ADTS header.
        #expect(audio.reduce(0) { $0 + $1.payload.count } == 40 * (7 + HLSProgram.soundSize))
        #expect(audio.allSatisfy { $0.payload.starts(with: [0xFF, 0xF1]) })
    }

    @Test("sound alone brings the clock itself")
    func soundAlone() {
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        let frames = (0..<200).map { HLSProgram.sound(at: .units(Int64($0) * 1024, rate: 48000)) }
        reader.read(writer.segment(frames, video: nil, audio: sound))
        #expect(reader.complaints == [])
        #expect(reader.streamTypes == [0x0F])
        #expect(reader.clocks.count == reader.packets.count)
        #expect(zip(reader.clocks, reader.clocks.dropFirst()).allSatisfy { $1 - $0 > 0 && $1 - $0 <= 90 * 130 })
    }

    @Test("a segment that no picture reaches has the clock where its tables say")
    func segmentWithoutPictures() {
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        let sounds = (0..<50).map { HLSProgram.sound(at: .seconds(1) + .units(Int64($0) * 1024, rate: 48000)) }
        for time in [MediaTime.zero, .seconds(3)] {
            let picture = HLSProgram.picture(at: time, isIDR: true, size: 300)
            reader.read(writer.segment([picture], video: pictures, audio: sound))
            reader.read(writer.segment(sounds, video: pictures, audio: sound, isDiscontinuity: time > .zero))
        }
        #expect(reader.complaints == [])
        // One in each picture, and one for each packet of sound.
        #expect(reader.clocks.count == reader.packets.count)
        #expect(reader.packets.filter { $0.track == .audio }.count > 10)
    }

    @Test("100 ms of the largest frames are divided into packets that state their length")
    func largeSound() {
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        let frames = (0..<20).map { index in
            let time = MediaTime.units(Int64(index) * 1024, rate: 96_000)
            let payload = [UInt8](repeating: 0x21, count: ADTSHeader.longestFrame - 1)
            return EncodedFrame(track: .audio, pts: time, dts: time, payload: payload)
        }
        reader.read(writer.segment(frames, video: nil, audio: sound))
        #expect(reader.complaints == [])
        #expect(reader.packets.reduce(0) { $0 + $1.payload.count } == 20 * (ADTSHeader.longestFrame + 6))
    }

    @Test("CRC-32 of ZIP files") func checksum() {
        var checksum = CRC32()
        checksum.update("1234".utf8)
        checksum.update("56789".utf8)
        #expect(checksum.value == 0xCBF4_3926)
    }
}
