import MixModel
import TestSupport

@testable import EncodedMedia

/// The bytes of an untrustworthy mixer: frames with arbitrary times, and messages with arbitrary bytes changed.
package struct HostileMixer {
    private var random: SeededGenerator

    package init(using random: inout SeededGenerator) { self.random = SeededGenerator(seed: random.next()) }

    package mutating func beginning() -> [UInt8] {
        bytes(.configuration(HLSProgram.video(7))) + bytes(.configuration(HLSProgram.audio))
    }

    package mutating func reports(near time: MediaTime) -> [UInt8] {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return bytes(.delays(["host/camera": any(near: time), "guest/camera": any(near: time)]))
        case 1: return bytes(.configuration(CodecConfiguration(track: .audio, bytes: [0x12, 0x10])))
        case 2:
            var message = frame(near: time)
            message[.random(in: 0..<message.count, using: &random)] = .random(in: 0...255, using: &random)
            return message
        case 3: return (0..<8).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        default: return frame(near: time)
        }
    }

    private mutating func frame(near time: MediaTime) -> [UInt8] {
        let track: Track = Bool.random(using: &random) ? .video : .audio
        let isIDR = track == .video && Int.random(in: 0..<4, using: &random) > 0
        return bytes(
            .frame(
                EncodedFrame(
                    track: track, pts: any(near: time), dts: any(near: time), isIDR: isIDR,
                    payload: [0, 0, 0, 2, isIDR ? 0x65 : 0x41, 7])))
    }

    private mutating func any(near time: MediaTime) -> MediaTime {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: MediaTime(nanoseconds: [.min, .max, 0, -1].randomElement(using: &random) ?? 0)
        case 1: MediaTime(nanoseconds: Int64(bitPattern: random.next()))
        default: time + .milliseconds(Int.random(in: -20...80, using: &random))
        }
    }

    private func bytes(_ report: MixerReport) -> [UInt8] { (try? report.wireBytes()) ?? [] }
}
