import EncodedMedia

/// Builds the index of a fragmented file, so that players can seek in it immediately.
///
/// The index is a `moov` box with sample tables behind the last fragment. One `mdat` header, written over the free box
/// at the beginning, then turns everything before the index into plain media data. Nothing is copied, and a file whose
/// indexing was interrupted still plays as a fragmented file.
public struct MP4Index: Sendable {
    fileprivate struct Track {
        let id: Int
        let timescale: Int
        let size: (width: Int, height: Int)?
        let entry: [UInt8]
        var sizes: [UInt32] = []
        /// Decoding times and composition offsets as runs of equal values (§8.6.1).
        var durations = Runs()
        var offsets = Runs()
        var syncSamples: [UInt32] = []
        var chunks: [(offset: Int64, samples: UInt32)] = []
        var firstTime: Int64?
        var lastTime: Int64 = 0
        var lastDuration: UInt32 = 0
    }

    fileprivate struct Runs {
        var runs: [(count: UInt32, value: UInt32)] = []

        mutating func append(_ value: UInt32) {
            if runs.last?.value == value {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((1, value))
            }
        }
    }

    private var tracks: [Track] = []

    /// Offset of the `moov` box in a recording, in bytes; the free box is in front of it.
    public static var movieOffset: Int { MP4Movie.fileType.count + MP4Movie.placeholder.count }
    /// Offset of the free box in a recording, in bytes.
    public static var placeholderOffset: Int { MP4Movie.fileType.count }

    /// Creates an index without samples; `nil` if `MP4Movie` did not write the box.
    ///
    /// - Parameter movie: The `moov` box of the fragmented file.
    public init?(movie bytes: [UInt8]) {
        let reader = MP4Reader(bytes: bytes)
        guard let movie = reader.box("moov", in: 0..<bytes.count) else { return nil }
        for box in reader.boxes(in: movie.range) where box.type == "trak" {
            guard let header = reader.box("tkhd", in: box.range), let media = reader.box("mdia", in: box.range),
                let times = reader.box("mdhd", in: media.range),
                let entries = reader.box("minf", "stbl", "stsd", in: media.range), header.range.count >= 96
            else { return nil }
            let id = Int(reader.uint32(header.range.lowerBound + 20))
            let width = Int(reader.uint32(header.range.upperBound - 8) >> 16)
            let height = Int(reader.uint32(header.range.upperBound - 4) >> 16)
            tracks.append(
                Track(
                    id: id, timescale: max(Int(reader.uint32(times.range.lowerBound + 20)), 1),
                    size: id == MP4Movie.videoTrack ? (width, height) : nil,
                    entry: Array(bytes[entries.range.dropFirst(8)])))
        }
        guard !tracks.isEmpty else { return nil }
    }

    /// Adds the next fragment.
    ///
    /// - Parameter offset: Offset of its `moof` in the file, in bytes.
    /// - Returns: False if the box is not a `moof` that `MP4Fragment` wrote.
    public mutating func add(moof: [UInt8], at offset: Int64) -> Bool {
        guard let fragment = MP4Fragment(moof: moof) else { return false }
        for run in fragment.runs {
            guard let index = tracks.firstIndex(where: { $0.id == run.track }), !run.samples.isEmpty else { continue }
            tracks[index].add(run, at: offset.saturatingSum(Int64(run.dataOffset)))
        }
        return true
    }

    public var isEmpty: Bool { tracks.allSatisfy(\.sizes.isEmpty) }

    /// Duration of the longest track in seconds.
    public var duration: Double { tracks.map { Double($0.end) / Double($0.timescale) }.max() ?? 0 }

    /// Returns the approximate size of `movie` in bytes after this many seconds of a typical program. At most 59 hours
    /// are counted, because seconds that are only a jump of the stream's times have no samples.
    public static func estimatedSize(afterSeconds seconds: Double) -> Int {
        4096 + min(Int(UInt32(saturating: seconds * (47 * 5 + 60 * 17))), 256 << 20)
    }

    /// The `moov` box with the tables of all fragments that were added.
    public var movie: [UInt8] {
        MP4Writer.box("moov") { writer in
            MP4Movie.movieHeader(duration: Int64(saturating: duration * Double(MP4Movie.movieTimescale)), &writer)
            for track in tracks where !track.sizes.isEmpty { writer.track(track.box) }
        }
    }

    /// Returns the header of a media data box, to be written at `placeholderOffset` (§8.1.1).
    ///
    /// - Parameter end: End of the last fragment in the file, in bytes.
    public static func mediaDataHeader(end: Int64) -> [UInt8] {
        var writer = MP4Writer()
        // 1: the size follows the type, in 64 bits (§4.2).
        writer.uint32(1)
        writer.append("mdat".utf8)
        writer.uint64(end - Int64(placeholderOffset))
        return writer.bytes
    }

    /// The box that turns an indexed file back into a fragmented one, to be written at `placeholderOffset`.
    public static var freeBox: [UInt8] { MP4Movie.placeholder }
}

extension MP4Index.Track {
    /// End of the last sample, in units of the track.
    fileprivate var end: Int64 { sizes.isEmpty ? 0 : lastTime.saturatingSum(Int64(lastDuration)) }

    fileprivate mutating func add(_ run: MP4Fragment.Run, at offset: Int64) {
        var time = run.decodeTime
        chunks.append((offset, UInt32(run.samples.count)))
        for sample in run.samples {
            if firstTime == nil {
                firstTime = time
            } else {
                // The duration of the previous sample is known only now: a gap belongs to it.
                durations.append(UInt32(clamping: time.saturatingDifference(lastTime)))
            }
            sizes.append(sample.size)
            offsets.append(UInt32(bitPattern: sample.compositionOffset))
            if sample.isSync { syncSamples.append(UInt32(sizes.count)) }
            lastTime = time
            lastDuration = sample.duration
            time = time.saturatingSum(Int64(sample.duration))
        }
    }

    fileprivate var box: MP4TrackBox {
        let start = firstTime ?? 0
        let length = end.saturatingDifference(start)
        func inMovie(_ time: Int64) -> Int64 {
            Int64(saturating: (Double(time) * Double(MP4Movie.movieTimescale) / Double(timescale)).rounded())
        }
        return MP4TrackBox(
            id: id, timescale: timescale, size: size, entry: entry, duration: inMovie(length),
            mediaDuration: length, startsAt: inMovie(start), tables: tables)
    }

    private var tables: [UInt8] {
        var writer = MP4Writer()
        var durations = durations
        durations.append(lastDuration)
        writer.fullBox("stts") { $0.runs(durations.runs) }
        if size != nil {
            // Version 1: offsets are signed (§8.6.1.3).
            writer.fullBox("ctts", version: 1) { $0.runs(offsets.runs) }
            writer.fullBox("stss") { writer in
                writer.uint32(syncSamples.count)
                for sample in syncSamples { writer.uint32(sample) }
            }
        }
        writer.fullBox("stsc") { writer in
            let runs = chunks.enumerated().filter {
                $0.offset == 0 || chunks[$0.offset - 1].samples != $0.element.samples
            }
            writer.uint32(runs.count)
            for run in runs {
                writer.uint32(run.offset + 1)
                writer.uint32(run.element.samples)
                writer.uint32(1)
            }
        }
        writer.fullBox("stsz") { writer in
            writer.uint32(0)
            writer.uint32(sizes.count)
            for size in sizes { writer.uint32(size) }
        }
        writer.fullBox("co64") { writer in
            writer.uint32(chunks.count)
            for chunk in chunks { writer.uint64(chunk.offset) }
        }
        return writer.bytes
    }
}

extension MP4Writer {
    fileprivate mutating func runs(_ runs: [(count: UInt32, value: UInt32)]) {
        uint32(runs.count)
        for run in runs {
            uint32(run.count)
            uint32(run.value)
        }
    }
}
