import EncodedMedia
import MediaFormats
import MediaSupport
import MixModel

/// A whole program: a host, a guest and a mixer that send what they like, when they like, and everybody who takes the
/// program. The bytes are a script, so that times and their order are found as easily as bytes.
enum ProgramTarget: FuzzTarget {
    static let name = "program"

    static var seeds: [[UInt8]] {
        let pictures = [0x17, 0, 0, 0, 0] + HLSProgram.video(1).bytes
        let sound = [0xAF, 0] + HLSProgram.audio.bytes
        func tag(_ from: UInt8, _ kind: UInt8, _ milliseconds: UInt8, _ body: [UInt8]) -> [UInt8] {
            [from, kind, milliseconds, UInt8(body.count)] + body
        }
        func stream(_ from: UInt8) -> [UInt8] {
            var bytes = tag(from, 1, 0, pictures) + tag(from, 0, 0, sound)
            for number in 0..<12 {
                let unit: [UInt8] = [0, 0, 0, 2, number % 6 == 0 ? 0x65 : 0x41, 1]
                bytes += tag(from, 1, 40, [number % 6 == 0 ? 0x17 : 0x27, 1, 0, 0, 0] + unit)
                bytes += tag(from, 0, 0, [0xAF, 1, 0x21, 0x22]) + [6, 40]
            }
            return bytes
        }
        return [stream(0), stream(0) + [5, 2] + stream(1), stream(1) + [5, 1] + stream(0)]
    }

    static func run(_ bytes: [UInt8]) {
        var script = bytes[...]
        func next() -> UInt8 { script.popFirst() ?? 0 }
        var room = HostileRoom()
        var timestamps: [UInt32] = [0, 0]
        for index in 0..<2 { room.receive(FLVTag.fileHeader, from: index) }
        while let step = script.popFirst() {
            switch step % 8 {
            case 0...3:
                let index = Int(step % 2)
                let kind = next()
                // Most steps are those of frames; some are as far as 32 bits go.
                let far: UInt32 = step & 8 == 0 ? 1 : 0x0101_0101
                timestamps[index] &+= UInt32(next()) &* far
                let body = Array(script.prefix(Int(next())))
                script = script.dropFirst(body.count)
                room.receive(
                    HostileStream.tag([8, 9, 18][Int(kind % 3)], body, at: timestamps[index]), from: index)
            case 4:
                let report = Array(script.prefix(Int(next())))
                script = script.dropFirst(report.count)
                room.receiveMixed(report)
            case 5:
                let choice = next()
                let modes: [ProgramPlan.Mode] = [
                    .bypass("host/camera"), .bypass("guest/camera"), .mix(host: "host/camera"), .slate,
                ]
                let tracks: [SourceSelection.Tracks] = [.all, .audio, .video, .all]
                room.apply(modes[Int(choice % 4)], tracks: tracks[Int(choice / 4 % 4)])
            case 6: room.pass(.milliseconds(Int(next())))
            default: room.pass(.milliseconds(Int(next()) * 20))
            }
        }
        for interval in room.intervals {
            require(.milliseconds(1)...(.seconds(10)) ~= interval, "an interval of \(interval)")
        }
        for kept in room.kept { require(kept <= 64 << 20, "\(kept) bytes are kept") }
        room.finish()
    }
}
