import EncodedMedia
import Testing

@testable import MediaFormats
@testable import ViewerProbe

/// The relay's own silence, as decoded by a third-party decoder.
@Suite struct SilentAACTests {
    /// AudioSpecificConfigs of AAC-LC: mono and stereo, at 8000, 44,100 and 48,000 Hz.
    @Test(
        arguments: [[0x15, 0x88], [0x15, 0x90], [0x12, 0x08], [0x12, 0x10], [0x11, 0x88], [0x11, 0x90]] as [[UInt8]])
    func itIsSilent(configuration: [UInt8]) throws {
        let format = try #require(AudioSpecificConfig(configuration))
        let payload = try #require(SilentAAC.frame(of: format))
        var program = FLVProgram()
        var flv = FLVTag.fileHeader
        flv += program.configure(CodecConfiguration(track: .audio, bytes: configuration)).flatMap(\.encoded)
        for index in 0..<20 {
            let time = MediaTime.units(Int64(index * 1024), rate: format.sampleRate)
            let frame = EncodedFrame(track: .audio, pts: time, dts: time, payload: payload)
            flv += program.write(frame).flatMap(\.encoded)
        }
        let (runs, errors) = try SoundDecoder.decode(try ProgramTrace(flv: flv))
        #expect(errors.isEmpty, "\(errors)")
        let samples = try #require(runs.first).samples
        #expect(samples.count >= 18 * 1024 && samples.allSatisfy { $0 == 0 })
    }

    @Test func otherFormatsHaveNone() throws {
        // 5.1 channels, and channels defined by the stream itself.
        for configuration in [[0x11, 0xB0], [0x11, 0x80]] as [[UInt8]] {
            #expect(SilentAAC.frame(of: try #require(AudioSpecificConfig(configuration))) == nil)
        }
    }
}
