import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// Measures the pure modules: the processor time of the parts that run for every frame and every event.
///
/// `Benchmarks` measures. `Benchmarks fuzz COUNT SEED` tests the decoder with broken layouts (by default 1,000,000 of
/// them, from seed 1).
@main
enum Benchmarks {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "fuzz" {
            let numbers = arguments.dropFirst().compactMap { UInt64($0) }
            let isGood = try LayoutFuzzing.run(count: numbers.first ?? 1_000_000, first: numbers.dropFirst().first ?? 1)
            exit(isGood ? EXIT_SUCCESS : EXIT_FAILURE)
        }
        print("median and 90th percentile of \(Measurement.rounds) rounds, one core\n")
        let isGood = try LayoutBenchmarks.run()
        fileFormat()
        splicing()
        exit(isGood ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    private static func fileFormat() {
        let frames = Stream.frames(seconds: 60)
        let bytes = frames.reduce(0) { $0 + $1.payload.count }
        func writtenBytes() -> [[UInt8]] {
            var program = FLVProgram()
            for configuration in Stream.configurations { _ = program.configure(configuration) }
            return frames.flatMap { program.write($0).map(\.encoded) }
        }
        Measurement(of: "FLV writing, 1.3 Mbit/s stream").run(units: frames.count, called: "frame", bytes: bytes) {
            writtenBytes().count
        }
        let file = FLVTag.fileHeader + writtenBytes().joined()
        let pieces = stride(from: 0, to: file.count, by: 4096).map { file[$0..<min($0 + 4096, file.count)] }
        Measurement(of: "FLV reading, in pieces of 4 KiB").run(units: frames.count, called: "frame", bytes: bytes) {
            var reader = FLVReader()
            let items = pieces.reduce(0) { sum, piece in sum + ((try? reader.push(piece).count) ?? 0) }
            precondition(items > frames.count, "the measured stream cannot be read")
            return items
        }
    }

    private static func splicing() {
        let frames = Stream.frames(seconds: 60)
        let bytes = frames.reduce(0) { $0 + $1.payload.count }
        let host = SpliceInput.source("host/camera")
        Measurement(of: "Splicer, steady bypass").run(units: frames.count, called: "frame", bytes: bytes) {
            var splicer = Splicer()
            for configuration in Stream.configurations { splicer.configure(host, configuration) }
            splicer.setInterval(.units(1, rate: Stream.fps), of: host)
            var actions = splicer.setTarget(host, now: .zero).count
            for frame in frames { actions += splicer.frame(frame, of: host, now: frame.dts).count }
            return actions
        }
    }
}

/// A stream of the default canvas: 20 pictures per second at 1.3 Mbit/s, an IDR every 2 s, AAC at 48 kHz.
private enum Stream {
    static let fps = 20

    static let configurations = [
        CodecConfiguration(
            track: .video,
            bytes: [1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xC0, 0x1F, 1, 0, 2, 0x68, 0xCE]),
        CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
    ]

    /// Returns the frames in the order of their decoding times.
    static func frames(seconds: Int) -> [EncodedFrame] {
        let video = (0..<seconds * fps).map { index in
            let time = MediaTime.units(Int64(index), rate: fps)
            let isIDR = index.isMultiple(of: fps * 2)
            return EncodedFrame(
                track: .video, pts: time, dts: time, isIDR: isIDR,
                payload: [UInt8](repeating: UInt8(index & 0xFF), count: isIDR ? 60_000 : 6500))
        }
        let audio = (0..<seconds * 48000 / 1024).map { index in
            let time = MediaTime.units(Int64(index) * 1024, rate: 48000)
            return EncodedFrame(track: .audio, pts: time, dts: time, payload: [UInt8](repeating: 7, count: 340))
        }
        return (video + audio).sorted { $0.dts < $1.dts }
    }
}
