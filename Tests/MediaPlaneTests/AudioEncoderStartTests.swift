import EncodedMedia
import Foundation
import Testing

@testable import ProgramMixer
@testable import ViewerProbe

/// The first packets of a mix's audio encoder, which viewers hear right after the host's own packets.
@Suite("Beginning of a mix's sound") struct AudioEncoderStartTests {
    private static let packets = 64

    /// Returns the sound of a test publisher: a tone, and a beep at the beginning of each second.
    private static func sound(at index: Int, rate: Int) -> Float {
        let time = Double(index) / Double(rate)
        let inside = time - time.rounded(.down)
        let tone = 0.1 * sin(2 * Double.pi * 550 * time)
        guard inside < 0.04 else { return Float(tone) }
        let shape = sin(Double.pi * inside / 0.04)
        return Float(tone + 0.3 * shape * shape * sin(2 * Double.pi * 2400 * time))
    }

    /// Decodes packets; returns the samples of the first channel, in their places.
    private static func decode(_ track: TestTrack, rate: Int, channels: Int) async throws -> [Float] {
        var line = [Float](repeating: 0, count: track.frames.count * 1024)
        for packet in try await TestStreams.sound(track, rate: rate, channels: channels) {
            let start = Int(packet.time.units(rate: rate))
            for index in 0..<packet.samples.count / channels where line.indices.contains(start + index) {
                line[start + index] = packet.samples[index * channels]
            }
        }
        return line
    }

    /// A beep begins in packet 43 at 44.1 kHz, and in packet 46 at 48 kHz. An encoder that begins there with short blocks
    /// leaves up to −60 dBFS above 7 kHz.
    @Test("It joins the host's packets without a click", arguments: [44_100, 48_000], [1, 2])
    func joint(rate: Int, channels: Int) async throws {
        let host = try await TestStreams.audio(rate: rate, channels: channels, count: Self.packets) {
            Self.sound(at: $0, rate: rate)
        }
        let heard = try await Self.decode(host, rate: rate, channels: channels)
        try #require(host.frames.count >= Self.packets && heard[62 * 1024 - 1] != 0)
        for first in [22, 36, 43, 46, 47] {
            let mix = try await TestStreams.audio(rate: rate, channels: channels, count: 12) {
                let index = first * 1024 + $0
                return index < heard.count ? heard[index] : 0
            }
            var program = host
            program.frames.removeLast(host.frames.count - first)
            for (index, frame) in mix.frames.prefix(10).enumerated() {
                let time = host.frames[first + index].pts
                program.frames.append(EncodedFrame(track: .audio, pts: time, dts: time, payload: frame.payload))
            }
            let samples = try await Self.decode(program, rate: rate, channels: channels)
            let range = (first - 1) * 1024 - 500..<(first + 2) * 1024 + 500
            let step = try #require(ToneAnalysis.clickLevel(samples, range: range))
            let band = try #require(ToneAnalysis.bandClickLevel(samples, sampleRate: rate, range: range))
            print("mix from packet \(first), \(rate) Hz, \(channels) channels: \(step) dB, band \(band) dB")
            #expect(step < -80 && band < -85, "packet \(first)")
        }
    }

    @Test func aFrameIsReversedWithItsChannelsInOrder() {
        #expect(AudioEncoder.reversed([1, 2, 3, 4, 5, 6], channels: 2) == [5, 6, 3, 4, 1, 2])
        #expect(AudioEncoder.reversed([1, 2, 3], channels: 1) == [3, 2, 1])
    }
}
