import TestSupport

import EncodedMedia
import MediaFormats

/// Programs as a packager receives them, generated from a seed.
package struct HLSProgram {
    package static let soundSize = 90
    package static let audio = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])
    package static let mono = CodecConfiguration(track: .audio, bytes: [0x11, 0x88])

    /// Returns a configuration of 640×360, Main, level 3.0; `id` distinguishes configurations.
    package static func video(_ id: UInt8) -> CodecConfiguration {
        let sps: [UInt8] = [
            0x67, 0x4D, 0x40, 0x1E, 0xEC, 0xA0, 0x50, 0x17, 0xFC, 0xB8, 0x08, 0x80, 0, 0, 3, 0, 0x80, 0, 0, 0x19, 0x07,
            0x8B, 0x16, 0xCB,
        ]
        let pps: [UInt8] = [0x68, id, 0x8C, 0xB2]
        return CodecConfiguration(
            track: .video,
            bytes: [1, 0x4D, 0x40, 0x1E, 0xFF, 0xE1, 0, UInt8(sps.count)] + sps + [1, 0, UInt8(pps.count)] + pps)
    }

    /// Returns the size of the parameter sets in a byte stream, with start codes.
    package static func parameterSetBytes(_ id: UInt8) -> Int { video(id).bytes.count - 11 + 8 }

    package static func picture(
        at pts: MediaTime, dts: MediaTime? = nil, isIDR: Bool, size: Int, fill: UInt8 = 0xAA
    ) -> EncodedFrame {
        let unit = [isIDR ? 0x65 : 0x41] + [UInt8](repeating: fill, count: size)
        let length = bigEndianBytes(unit.count, 4)
        return EncodedFrame(track: .video, pts: pts, dts: dts ?? pts, isIDR: isIDR, payload: length + unit)
    }

    package static func sound(at time: MediaTime) -> EncodedFrame {
        EncodedFrame(track: .audio, pts: time, dts: time, payload: [UInt8](repeating: 0x21, count: soundSize))
    }

    /// The program's items, in order of arrival.
    package private(set) var items: [MediaItem] = []
    /// Times of IDRs at which another configuration begins, or before which something was left out.
    package private(set) var changes: Set<MediaTime> = []
    package private(set) var longestGroup = MediaTime.zero

    /// Creates several stretches, each with its own picture, rate and groups; sound comes before or after its pictures.
    package init(_ random: inout SeededGenerator, stretches: Int = 4, hasAudio: Bool = true, hasVideo: Bool = true) {
        var video: [EncodedFrame] = []
        var begins: [(MediaTime, CodecConfiguration)] = []
        var time = MediaTime.milliseconds(Int.random(in: 0...200_000, using: &random))
        let start = time
        var reordering = MediaTime.zero
        for stretch in 0..<stretches {
            // A source ends where all of its pictures are displayed before those of the next one.
            time += reordering
            let interval = MediaTime.milliseconds([33, 40, 50, 67].randomElement(using: &random) ?? 40)
            let group = Int.random(in: 5...150, using: &random)
            reordering = interval * Int64([0, 0, 2].randomElement(using: &random) ?? 0)
            let configuration = HLSProgram.video(UInt8(stretch % 3) + 1)
            if begins.last?.1 != configuration { begins.append((time + reordering, configuration)) }
            if stretch > 0 { changes.insert(time + reordering) }
            longestGroup = max(longestGroup, interval * Int64(group))
            let count = Int.random(in: 20...600, using: &random)
            for index in 0..<count {
                let place = index % group
                let isIDR = place == 0
                // Decoded as I0 P2 B1 P4 B3 …
                let isLast = place == group - 1 || index == count - 1
                let step = reordering == .zero || isIDR ? 0 : place % 2 == 0 ? -1 : isLast ? 0 : 1
                let pts = time + reordering + interval * Int64(step)
                video.append(
                    HLSProgram.picture(at: pts, dts: time, isIDR: isIDR, size: Int.random(in: 10...400, using: &random))
                )
                time += interval
            }
        }
        var audio: [EncodedFrame] = []
        var sample: Int64 = 0
        while hasAudio, start + .units(sample, rate: 48000) < time {
            // FLV rounds times to ms.
            let rounded = (start + .units(sample, rate: 48000)).roundedMilliseconds
            audio.append(HLSProgram.sound(at: .milliseconds(rounded)))
            sample += 1024
        }
        if hasVideo { items.append(.configuration(begins[0].1)) }
        if hasAudio { items.append(.configuration(HLSProgram.audio)) }
        let lag = MediaTime.milliseconds(Int.random(in: -400...400, using: &random))
        var sounds = audio[...]
        var next = 1
        for frame in hasVideo ? video : [] {
            while let sound = sounds.first, sound.pts + lag < frame.dts {
                items.append(.frame(sound))
                sounds.removeFirst()
            }
            if next < begins.count, frame.isIDR, frame.pts >= begins[next].0 {
                items.append(.configuration(begins[next].1))
                next += 1
            }
            items.append(.frame(frame))
        }
        items += sounds.map { .frame($0) }
    }

    package var frames: [EncodedFrame] { items.compactMap { if case .frame(let frame) = $0 { frame } else { nil } } }
    package var video: [EncodedFrame] { frames.filter { $0.track == .video } }
    package var audio: [EncodedFrame] { frames.filter { $0.track == .audio } }

    package func segments(seconds: Int = 4) -> (segments: [ProgramSegment], target: Int) {
        var segmenter = ProgramSegmenter(segmentSeconds: seconds)
        var segments = items.flatMap { segmenter.push($0, wallClock: 1_700_000_000_000) }
        segments += segmenter.finish()
        return (segments, segmenter.targetDuration ?? 0)
    }
}
