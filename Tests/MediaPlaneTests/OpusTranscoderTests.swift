import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import Synchronization
import TestSupport
import Testing

@testable import WebRTCGateway

@Suite(.timeLimit(.minutes(3))) struct OpusTranscoderTests {
    /// Returns AAC items with a tone, from `start` on.
    private static func tone(_ rate: Int, channels: Int, frames: Int, from start: MediaTime) throws -> [MediaItem] {
        let items = Mutex<[MediaItem]>([])
        let chain = try DirectPipeline(
            ["audioconvert", "avenc_aac", "audio/mpeg,stream-format=raw"],
            caps: .text("audio/x-raw,format=F32LE,layout=interleaved,rate=\(rate),channels=\(channels)"), name: "tone"
        ) { sample in
            items.withLock { items in
                if items.isEmpty, let bytes = sample.codecData {
                    items.append(.configuration(CodecConfiguration(track: .audio, bytes: bytes)))
                }
                let time = start + .units(Int64(max(items.count - 1, 0) * 1024), rate: rate)
                items.append(
                    .frame(EncodedFrame(track: .audio, pts: time.rounded, dts: time.rounded, payload: sample.bytes)))
            }
        }
        try chain.start()
        for frame in 0..<frames {
            var samples: [Float] = []
            for index in 0..<1024 {
                let phase = Double(frame * 1024 + index) * 440 / Double(rate)
                samples += [Float](repeating: Float(0.5 * sin(2 * Double.pi * phase)), count: channels)
            }
            _ = samples.withUnsafeBytes { chain.push(bytes: $0, pts: UInt64(frame * 1024 * 1_000_000_000 / rate)) }
        }
        chain.tearDown()
        return items.withLock { $0 }
    }

    private static func packets(of items: [MediaItem]) async throws -> [OpusTranscoder.Packet] {
        let packets = Mutex<[OpusTranscoder.Packet]>([])
        let transcoder = OpusTranscoder { packet in packets.withLock { $0.append(packet) } }
        for (count, item) in items.enumerated() {
            transcoder.take(item)
            // At most the permitted number of items waits.
            if count % 100 == 99 { transcoder.finishWaiting() }
        }
        transcoder.finishWaiting()
        #expect(transcoder.failure == nil)
        transcoder.tearDown()
        return packets.withLock { $0 }
    }

    private static func steps(_ packets: [OpusTranscoder.Packet]) -> [Double] {
        zip(packets, packets.dropFirst()).map { ($1.time - $0.time).inMilliseconds }
    }

    /// Decodes packets; returns the greatest magnitude in each.
    private static func peaks(_ packets: [OpusTranscoder.Packet]) throws -> [Float] {
        let peaks = Mutex<[Float]>([])
        let chain = try DirectPipeline(
            ["opusdec", "audioconvert", "audio/x-raw,format=F32LE"],
            caps: .text("audio/x-opus,rate=48000,channels=2,channel-mapping-family=0"), name: "peaks"
        ) { sample in
            let peak = sample.withBytes { $0.bindMemory(to: Float.self).reduce(0) { max($0, $1.magnitude) } }
            peaks.withLock { $0.append(peak) }
        }
        try chain.start()
        for packet in packets {
            _ = packet.bytes.withUnsafeBytes {
                chain.push(bytes: $0, pts: UInt64((packet.time + .seconds(1)).nanoseconds), duration: 20_000_000)
            }
        }
        chain.tearDown()
        return peaks.withLock { $0 }
    }

    @Test(arguments: [(48_000, 2), (44_100, 2), (22_050, 1)])
    func packetsFollowEachOtherWithoutAGap(rate: Int, channels: Int) async throws {
        let packets = try await Self.packets(
            of: Self.tone(rate, channels: channels, frames: 100, from: .seconds(100)))
        let length = Double(100 * 1024) / Double(rate)
        #expect(Double(packets.count) * 0.02 > length - 0.2 && Double(packets.count) * 0.02 <= length + 0.02)
        #expect(packets.first.map { abs(($0.time - .seconds(100)).inMilliseconds) < 30 } ?? false)
        #expect(Self.steps(packets).allSatisfy { $0 == 20 }, "\(Self.steps(packets))")
        #expect(try Self.peaks(packets).dropFirst(5).allSatisfy { $0 > 0.3 })
    }

    @Test func anotherConfigurationInTheMiddleLeavesNoGap() async throws {
        let first = try Self.tone(48_000, channels: 2, frames: 60, from: .zero)
        let second = try Self.tone(44_100, channels: 1, frames: 60, from: .units(60 * 1024, rate: 48_000))
        let packets = try await Self.packets(of: first + second)
        #expect(packets.count > 125)
        #expect(Self.steps(packets).allSatisfy { $0 == 20 }, "\(Self.steps(packets))")
        #expect(try Self.peaks(packets).dropFirst(5).count { $0 < 0.3 } <= 2, "no silence at the change")
    }

    @Test func aHoleIsFilledAndAJumpIsNot() async throws {
        let all = try Self.tone(48_000, channels: 2, frames: 100, from: .zero)
        let holed = try await Self.packets(of: Array(all[..<40] + all[60...]))
        #expect(Self.steps(holed).allSatisfy { $0 == 20 })
        #expect(try Self.peaks(holed).count { $0 < 0.05 } > 10, "silence in place of what is missing")
        let later = try Self.tone(48_000, channels: 2, frames: 40, from: .seconds(3600))
        let jumped = try await Self.packets(of: Array(all[..<40]) + later.dropFirst())
        let jumps = Self.steps(jumped).filter { $0 != 20 }
        #expect(jumps.count == 1 && jumps[0] > 3_500_000, "\(jumps)")
        let earlier = try await Self.packets(of: later + Array(all[1..<40]))
        #expect(Self.steps(earlier).count { $0 != 20 } == 1)
    }

    @Test func whatIsNotAACIsNamed() async throws {
        let transcoder = OpusTranscoder { _ in }
        transcoder.take(.configuration(CodecConfiguration(track: .audio, bytes: [0xFF])))
        transcoder.take(.frame(EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [1, 2, 3])))
        transcoder.finishWaiting()
        #expect(transcoder.failure?.contains("is not AAC: ff") ?? false)
        transcoder.tearDown()
    }
}
