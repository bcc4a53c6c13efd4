import EncodedMedia
import Foundation
import MediaFormats

/// The stream that a viewer received: an FLV file, untouched, and the arrival time of each tag.
public struct FLVRecording: Sendable {
    /// Path of the FLV file.
    public var path: String
    /// Arrival time of each tag of the file, in order, as CLOCK_MONOTONIC in ns; empty if not known.
    public var arrivals: [Int64]
    /// Number of connections that delivered at least one tag.
    public var connections: Int
    /// Number of times that the server announced the publisher's departure.
    public var publisherLosses: Int
    /// The reason that the last connection ended, if it was not stopped on purpose.
    public var lastError: ProbeError?

    public init(
        path: String, arrivals: [Int64] = [], connections: Int = 1, publisherLosses: Int = 0,
        lastError: ProbeError? = nil
    ) {
        self.path = path
        self.arrivals = arrivals
        self.connections = connections
        self.publisherLosses = publisherLosses
        self.lastError = lastError
    }

    /// Opens an earlier recording, with its arrival times if they are stored next to it.
    public init(existing path: String) {
        let times = (try? String(contentsOfFile: path + ".arrivals", encoding: .utf8)) ?? ""
        self.init(path: path, arrivals: times.split(separator: "\n").compactMap { Int64($0) })
    }

    /// Writes the arrival times next to the file, for `init(existing:)`.
    public func saveArrivals() throws {
        let text = arrivals.map(String.init).joined(separator: "\n")
        try text.write(toFile: path + ".arrivals", atomically: true, encoding: .utf8)
    }

    /// Parses the recording.
    public func trace() throws(ProbeError) -> ProgramTrace {
        guard let data = FileManager.default.contents(atPath: path) else { throw .file("cannot read \(path)") }
        return try ProgramTrace(flv: [UInt8](data), arrivals: arrivals)
    }
}

/// The frames and configurations of a recorded program in the order in which they arrived.
public struct ProgramTrace: Sendable {
    /// A frame as the viewer received it; its times are the program's FLV timestamps.
    public struct Frame: Sendable {
        public var frame: EncodedFrame
        /// Arrival time as CLOCK_MONOTONIC in ns, if known.
        public var arrival: Int64?
        /// Index in `configurations` of the one that decodes the frame; −1 if none was sent.
        public var configuration: Int
    }

    public private(set) var video: [Frame] = []
    public private(set) var audio: [Frame] = []
    /// Every sequence header, even if it repeats the previous one.
    public private(set) var configurations: [CodecConfiguration] = []
    /// Timestamps of all tags with frames, in file order, in ms.
    private(set) var timestamps: [Int64] = []

    public init(flv: [UInt8], arrivals: [Int64] = []) throws(ProbeError) {
        var reader = FLVReader()
        var current: [Track: Int] = [:]
        var tag = 0
        var position = FLVTag.fileHeader.count
        do {
            _ = try reader.push(flv.prefix(position))
            while let header = FLVTagHeader(flv, at: position), flv.count - position >= header.tagLength {
                let end = position + header.tagLength
                for item in try reader.push(flv[position..<end]) {
                    switch item {
                    case .metadata, .discontinuity: break
                    case .configuration(let configuration):
                        current[configuration.track] = configurations.count
                        configurations.append(configuration)
                    case .frame(let frame):
                        let entry = Frame(
                            frame: frame, arrival: tag < arrivals.count ? arrivals[tag] : nil,
                            configuration: current[frame.track] ?? -1)
                        if frame.track == .video { video.append(entry) } else { audio.append(entry) }
                        timestamps.append(frame.dts.roundedMilliseconds)
                    }
                }
                tag += 1
                position = end
            }
        } catch {
            throw .malformed("tag \(tag): \(error)")
        }
    }
}

extension ProgramTrace {
    /// Presentation time in ms of the last picture before which none is missing.
    ///
    /// A viewer who leaves may have received a picture but not yet the pictures that are decoded after it and shown
    /// before it. That gap is the viewer's, not the program's.
    var lastWhole: Int64 {
        let times = video.map(\.frame.pts.roundedMilliseconds).sorted()
        guard let end = video.last?.frame.dts.roundedMilliseconds,
            let interval = TimingAnalysis.interval(of: times.suffix(40)), let last = times.last
        else { return .max }
        let hole = zip(times, times.dropFirst()).first { $1 > end && Double($1 - $0) > 1.5 * interval }
        return hole?.0 ?? last
    }

    /// Time at which a viewer's decoder can show each picture, in ns of CLOCK_MONOTONIC by presentation time in ms.
    ///
    /// A decoder can show a picture once it has the first access unit that is decoded at or after the picture's
    /// presentation time. Without B-frames that is the picture's own arrival; with them a decoder waits for the reorder
    /// depth, which the decoding times include.
    var showingTimes: [Int64: Int64] {
        var times: [Int64: Int64] = [:]
        for (index, entry) in video.enumerated() {
            let shown = video[index...].first { $0.frame.dts >= entry.frame.pts } ?? entry
            times[entry.frame.pts.roundedMilliseconds] = shown.arrival
        }
        return times
    }
}
