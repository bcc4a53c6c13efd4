import EncodedMedia
import MediaFormats
import MixModel
import ProgramSplicer
import RTMP

/// The paths that every frame of a program takes.
enum MediaPaths {
    /// Longest stream of which frames are made, in frames.
    private static let longest = 10_000

    static func all() throws -> [CountedPath] {
        let frames = frames(longest)
        let second = Array(frames.prefix(67))
        return [
            CountedPath(name: "rtmp-read", unit: "message", about: "RTMP chunks into messages, read in pieces of 4 KiB")
            {
                try read(second, count: $0)
            },
            CountedPath(name: "flv-write", unit: "frame", about: "a frame of the program into an FLV tag") {
                write(frames.prefix($0))
            },
            CountedPath(name: "splice", unit: "frame", about: "a frame of a steady bypass through the splicer") {
                splice(frames.prefix($0))
            },
            CountedPath(name: "timeline", unit: "frame", about: "a frame of a source into program time") {
                map(frames.prefix($0))
            },
            CountedPath(name: "sei-off", unit: "frame", about: "asking for SEI messages when there are none") {
                ask(frames.prefix($0))
            },
        ]
    }

    private static let configurations = [
        CodecConfiguration(
            track: .video,
            bytes: [1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xC0, 0x1F, 1, 0, 2, 0x68, 0xCE]),
        CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
    ]

    /// Returns a stream of 20 pictures per second with AAC at 48 kHz, in the order of decoding times.
    private static func frames(_ count: Int) -> [EncodedFrame] {
        // Small payloads: how long copying takes is no part of these counts.
        let (picture, sound) = ([UInt8](repeating: 65, count: 900), [UInt8](repeating: 7, count: 340))
        var frames: [EncodedFrame] = []
        var (pictures, sounds): (Int64, Int64) = (0, 0)
        while frames.count < count {
            let (video, audio) = (MediaTime.units(pictures, rate: 20), MediaTime.units(sounds * 1024, rate: 48000))
            if video <= audio {
                frames.append(
                    EncodedFrame(
                        track: .video, pts: video, dts: video, isIDR: pictures.isMultiple(of: 40), payload: picture))
                pictures += 1
            } else {
                frames.append(EncodedFrame(track: .audio, pts: audio, dts: audio, payload: sound))
                sounds += 1
            }
        }
        return frames
    }

    private static func read(_ frames: [EncodedFrame], count: Int) throws -> Int {
        var bytes: [UInt8] = []
        for frame in frames { bytes += chunk(frame.track == .video ? .video : .audio, frame.payload) }
        // As nginx-rtmp sends: each frame is one chunk.
        let size = chunk(.setChunkSize, [0, 1, 0, 0])
        var reader = RTMPChunkReader()
        var messages = try reader.read(size[...]).count
        while messages < count {
            var place = 0
            while place < bytes.count {
                let end = min(place + 4096, bytes.count)
                messages += try reader.read(bytes[place..<end]).count
                place = end
            }
        }
        return messages
    }

    /// Returns a message as one chunk with a full header (Adobe RTMP 1.0, §5.3.1).
    private static func chunk(_ kind: RTMPMessage.Kind, _ body: [UInt8]) -> [UInt8] {
        [4, 0, 0, 0, 0, UInt8(body.count >> 8), UInt8(body.count & 0xFF), kind.rawValue, 1, 0, 0, 0] + body
    }

    private static func write(_ frames: ArraySlice<EncodedFrame>) -> Int {
        var program = FLVProgram()
        for configuration in configurations { _ = program.configure(configuration) }
        return frames.reduce(0) { sum, frame in program.write(frame).reduce(sum) { $0 + $1.encoded.count } }
    }

    private static func splice(_ frames: ArraySlice<EncodedFrame>) -> Int {
        let host = SpliceInput.source("host/camera")
        var splicer = Splicer()
        for configuration in configurations { splicer.configure(host, configuration) }
        splicer.setInterval(.units(1, rate: 20), of: host)
        var actions = splicer.setTarget(host, now: .zero).count
        for frame in frames { actions += splicer.frame(frame, of: host, now: frame.dts).count }
        return actions
    }

    private static func map(_ frames: ArraySlice<EncodedFrame>) -> Int {
        var timeline = SourceTimeline()
        let role = SourceClock.Role(isOnAir: true, isCopied: true)
        for configuration in configurations {
            _ = timeline.accept(.configuration(configuration), arrival: .zero, as: role)
        }
        return frames.reduce(0) { sum, frame in
            sum + timeline.accept(.frame(frame), arrival: frame.dts, as: role).count
        }
    }

    private static func ask(_ frames: ArraySlice<EncodedFrame>) -> Int {
        var schedule = SEISchedule()
        return frames.reduce(0) { sum, frame in
            let due =
                schedule.isEmpty
                ? []
                : schedule.messages(at: frame.dts, isIDR: frame.isIDR) {
                    SEILayout(bypass: "host/camera", size: nil, at: 0)
                }
            return sum + 1 + due.count
        }
    }
}
