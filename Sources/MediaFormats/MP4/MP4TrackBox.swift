/// A `trak` box (ISO/IEC 14496-12 §8.3).
package struct MP4TrackBox {
    package var id: Int
    package var timescale: Int
    /// Picture size in pixels; `nil` means audio.
    package var size: (width: Int, height: Int)?
    /// The track's only sample entry.
    package var entry: [UInt8]
    /// Duration in units of the movie.
    package var duration: Int64 = 0
    /// Duration in units of the track.
    package var mediaDuration: Int64 = 0
    /// Time before the first sample, during which nothing is shown; in units of the movie.
    package var startsAt: Int64 = 0
    /// The boxes after the sample entry in `stbl`; `nil` means the empty tables of a fragmented movie.
    package var tables: [UInt8]?
}

extension MP4Writer {
    package mutating func track(_ track: MP4TrackBox) {
        box("trak") { writer in
            // Flags: enabled, in the movie, in the preview.
            writer.fullBox("tkhd", version: 1, flags: 7) { writer in
                writer.zeros(16)
                writer.uint32(track.id)
                writer.zeros(4)
                writer.uint64(track.startsAt.saturatingSum(track.duration))
                writer.zeros(12)
                writer.uint16(track.size == nil ? 0x0100 : 0)
                writer.zeros(2)
                writer.unityMatrix()
                writer.uint32((track.size?.width ?? 0) << 16)
                writer.uint32((track.size?.height ?? 0) << 16)
            }
            if track.startsAt > 0 { writer.edits(of: track) }
            writer.box("mdia") { writer in writer.media(of: track) }
        }
    }

    /// Writes an empty edit, then one of the whole track (§8.6.6).
    private mutating func edits(of track: MP4TrackBox) {
        box("edts") { writer in
            writer.fullBox("elst", version: 1) { writer in
                writer.uint32(2)
                for (duration, time) in [(track.startsAt, Int64(-1)), (track.duration, 0)] {
                    writer.uint64(duration)
                    writer.uint64(time)
                    writer.uint32(0x0001_0000)
                }
            }
        }
    }

    private mutating func media(of track: MP4TrackBox) {
        fullBox("mdhd", version: 1) { writer in
            writer.zeros(16)
            writer.uint32(track.timescale)
            writer.uint64(track.mediaDuration)
            // "und"
            writer.uint16(0x55C4)
            writer.zeros(2)
        }
        fullBox("hdlr") { writer in
            writer.zeros(4)
            writer.append((track.size == nil ? "soun" : "vide").utf8)
            writer.zeros(13)
        }
        box("minf") { writer in
            if track.size == nil {
                writer.fullBox("smhd") { $0.zeros(4) }
            } else {
                writer.fullBox("vmhd", flags: 1) { $0.zeros(8) }
            }
            writer.box("dinf") { writer in
                writer.fullBox("dref") { writer in
                    writer.uint32(1)
                    // The media is in this file.
                    writer.fullBox("url ", flags: 1) { _ in }
                }
            }
            writer.box("stbl") { writer in
                writer.fullBox("stsd") { writer in
                    writer.uint32(1)
                    writer.append(track.entry)
                }
                if let tables = track.tables {
                    writer.append(tables)
                } else {
                    for table in ["stts", "stsc", "stco"] { writer.fullBox(table) { $0.uint32(0) } }
                    writer.fullBox("stsz") { $0.zeros(8) }
                }
            }
        }
    }
}
