/// A fragment of a recording, about a second long: one `moof` and its `mdat` (ISO/IEC 14496-12 §8.8).
public struct MP4Fragment: Hashable, Sendable {
    /// A sample of a track run (§8.8.8).
    public struct Sample: Hashable, Sendable {
        /// Duration in units of the track, as is `compositionOffset`.
        public var duration: UInt32
        public var size: UInt32
        public var compositionOffset: Int32 = 0
        public var isSync = true

        package init(duration: UInt32, size: UInt32, compositionOffset: Int32 = 0, isSync: Bool = true) {
            self.duration = duration
            self.size = size
            self.compositionOffset = compositionOffset
            self.isSync = isSync
        }
    }

    /// The samples of one track in the fragment.
    public struct Run: Hashable, Sendable {
        public var track: Int
        /// Decoding time of the first sample, in units of the track.
        public var decodeTime: Int64
        public var samples: [Sample]
        /// Offset of the samples from the beginning of the fragment, in bytes.
        public internal(set) var dataOffset = 0
    }

    public var runs: [Run]

    /// Sample flags: depends on no other sample, and depends on others (§8.8.3.1).
    private static let syncFlags: UInt32 = 0x0200_0000
    private static let otherFlags: UInt32 = 0x0101_0000

    /// - Parameter data: Samples of each run, in the order of `runs`.
    package static func encode(sequence: Int, _ runs: [Run], data: [[UInt8]]) -> [UInt8] {
        var offsets: [Int] = []
        var writer = MP4Writer()
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.uint32(sequence) }
            for run in runs {
                writer.box("traf") { writer in
                    // Offsets count from this `moof`.
                    writer.fullBox("tfhd", flags: 0x02_0000) { $0.uint32(run.track) }
                    writer.fullBox("tfdt", version: 1) { $0.uint64(run.decodeTime) }
                    let isVideo = run.track == MP4Movie.videoTrack
                    writer.fullBox("trun", version: 1, flags: isVideo ? 0xF01 : 0x701) { writer in
                        writer.uint32(run.samples.count)
                        offsets.append(writer.bytes.count)
                        writer.uint32(0)
                        for sample in run.samples {
                            writer.uint32(sample.duration)
                            writer.uint32(sample.size)
                            writer.uint32(sample.isSync ? syncFlags : otherFlags)
                            if isVideo { writer.uint32(UInt32(bitPattern: sample.compositionOffset)) }
                        }
                    }
                }
            }
        }
        var position = writer.bytes.count + 8
        for (offset, bytes) in zip(offsets, data) {
            writer.set(UInt32(position), at: offset)
            position += bytes.count
        }
        writer.box("mdat") { writer in
            for bytes in data { writer.append(bytes) }
        }
        return writer.bytes
    }

    /// Reads a `moof` box as `encode` writes it; `nil` for any other bytes.
    package init?(moof bytes: [UInt8]) {
        let reader = MP4Reader(bytes: bytes)
        guard let moof = reader.box("moof", in: 0..<bytes.count) else { return nil }
        runs = []
        for box in reader.boxes(in: moof.range) where box.type == "traf" {
            guard let header = reader.box("tfhd", in: box.range), let time = reader.box("tfdt", in: box.range),
                let run = reader.box("trun", in: box.range), time.range.count >= 12, run.range.count >= 12
            else { return nil }
            let isVideo = reader.uint32(run.range.lowerBound) & 0x800 != 0
            let count = Int(reader.uint32(run.range.lowerBound + 4))
            let stride = isVideo ? 16 : 12
            guard run.range.count == 12 + count * stride else { return nil }
            runs.append(
                Run(
                    track: Int(reader.uint32(header.range.lowerBound + 4)),
                    decodeTime: reader.uint64(time.range.lowerBound + 4),
                    samples: (0..<count).map { index in
                        let position = run.range.lowerBound + 12 + index * stride
                        return Sample(
                            duration: reader.uint32(position), size: reader.uint32(position + 4),
                            compositionOffset: isVideo ? Int32(bitPattern: reader.uint32(position + 12)) : 0,
                            isSync: reader.uint32(position + 8) == Self.syncFlags)
                    }, dataOffset: Int(reader.uint32(run.range.lowerBound + 8))))
        }
    }
}
