import GStreamerKit
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

/// Pictures given to a canvas's encoder, and its output.
struct EncoderTake {
    var frames: [EncodedFrame] = []
    /// The last configuration; `nil` if there was none.
    var configuration: [UInt8]?

    static func time(ofTick tick: Int) -> MediaTime { .milliseconds(7000) + .units(Int64(tick), rate: 20) }

    /// Encodes moving pictures of 360×640@20, each after the previous one has come out.
    ///
    /// - Parameter requests: Ticks of pictures that must be IDR frames.
    static func run(_ setup: MixerSetup, pictures: Int, requests: Set<Int>) async throws -> EncoderTake {
        let reports = Gathered<MixerReport>()
        let colour = CanvasColour(signal: setup.colour, canvas: setup.canvas)
        let format = CanvasComposer.format(of: setup.canvas, colour: colour)
        let encoder = try VideoEncoder(
            X264Encoder.self, format: format, setup: setup, colour: colour, tuning: EncoderTuning()
        ) { reports.add($0) }
        try encoder.start()
        let pool = try CanvasPool(format: format)
        for tick in 0..<pictures {
            let picture = try #require(pool.acquire())
            paint(picture, tick: tick)
            encoder.push(picture, tick: Int64(tick), at: time(ofTick: tick), isIDR: requests.contains(tick))
            try await until { reports.frames.count == tick + 1 }
        }
        encoder.tearDown()
        return EncoderTake(frames: reports.frames, configuration: reports.configurations.last)
    }

    /// Paints stripes that move by 6 pixels per picture.
    static func paint(_ picture: VideoFrame, tick: Int) {
        picture.fill(y: 60, u: 120, v: 140)
        for stripe in 0..<5 {
            let left = (stripe * 72 + tick * 6) % 320 / 2 * 2
            picture.fill(
                VideoRect(x: left, y: 40 * stripe, width: 36, height: 400), y: UInt8(100 + 30 * stripe), u: 128, v: 110)
        }
    }
}

extension Gathered<MixerReport> {
    var frames: [EncodedFrame] {
        all.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
    }
    var configurations: [[UInt8]] {
        all.compactMap { if case .configuration(let configuration) = $0 { configuration.bytes } else { nil } }
    }
}

/// The numbers of the first SPS and PPS among NAL units with 4-byte length prefixes.
struct NumberedSets: Equatable {
    var sequence: UInt32?
    var picture: UInt32?

    init(sequence: UInt32, picture: UInt32) { (self.sequence, self.picture) = (sequence, picture) }

    init(_ units: [UInt8]) {
        for unit in NALUnits(units, lengthSize: 4) {
            var bits = BitReader(removingEmulationPrevention: unit.dropFirst())
            switch unit.first.map({ $0 & 31 }) {
            case 7:
                bits.skip(24)
                sequence = sequence ?? bits.unsignedExpGolomb()
            case 8: picture = picture ?? bits.unsignedExpGolomb()
            default: break
            }
        }
    }
}
