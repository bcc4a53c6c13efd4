import EncodedMedia

/// A keyframe of a recording, found without reading the rest of the file.
public struct RecordedKeyframe: Hashable, Sendable {
    public let configuration: CodecConfiguration
    /// Payload in the form of `EncodedFrame`.
    public let payload: [UInt8]

    /// Largest number of fragments, about a second each, that are examined, and longest box in bytes that is read from
    /// each.
    private static let mostFragments = 600
    private static let longestBox: Int64 = 4 << 20
    /// Largest picture in bytes.
    public static let largest = 8 << 20

    /// Finds the first keyframe that is shown at `seconds` or later, or else the last one before.
    ///
    /// - Parameter read: Returns the bytes at an offset of the file; `nil` if they do not exist.
    /// - Returns: `nil` if the file has no pictures, or was not written by our recorders.
    public static func find(
        at seconds: Double, read: (_ offset: Int64, _ count: Int) -> [UInt8]?
    ) -> RecordedKeyframe? {
        func box(at offset: Int64) -> (type: String, size: Int64)? {
            guard let head = read(offset, 8), head.count == 8,
                let size = head.bigEndian(Int64.self, at: 0, bytes: 4)
            else { return nil }
            return size >= 8 ? (String(decoding: head[4...], as: UTF8.self), size) : nil
        }
        var offset = Int64(MP4Index.movieOffset)
        guard let movie = box(at: offset), movie.type == "moov", movie.size <= longestBox,
            let bytes = read(offset, Int(movie.size)), let video = MP4Movie(box: bytes)?.video
        else { return nil }
        offset += movie.size
        var found: (offset: Int64, size: Int)?
        let wanted = Int64(saturating: seconds * Double(MP4Movie.videoTimescale))
        for _ in 0..<mostFragments {
            guard let head = box(at: offset), head.type == "moof", head.size <= longestBox,
                let data = box(at: offset.saturatingSum(head.size)), data.type == "mdat",
                let fragment = read(offset, Int(head.size)).flatMap({ MP4Fragment(moof: $0) })
            else { break }
            for run in fragment.runs where run.track == MP4Movie.videoTrack {
                var (place, time) = (offset.saturatingSum(Int64(run.dataOffset)), run.decodeTime)
                for sample in run.samples {
                    if sample.isSync, 1...largest ~= Int(sample.size) { found = (place, Int(sample.size)) }
                    if sample.isSync, time >= wanted, found != nil { break }
                    place = place.saturatingSum(Int64(sample.size))
                    time = time.saturatingSum(Int64(sample.duration))
                }
                if let found, found.offset == place, time >= wanted { return keyframe(found, video, read) }
            }
            offset = offset.saturatingSum(head.size).saturatingSum(data.size)
        }
        return found.flatMap { keyframe($0, video, read) }
    }

    private static func keyframe(
        _ place: (offset: Int64, size: Int), _ video: CodecConfiguration, _ read: (Int64, Int) -> [UInt8]?
    ) -> RecordedKeyframe? {
        guard let payload = read(place.offset, place.size), payload.count == place.size else { return nil }
        return RecordedKeyframe(configuration: video, payload: payload)
    }

    /// An FLV stream that contains only the keyframe.
    public var flv: [UInt8] {
        let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: payload)
        let tags = [
            FLVTag(configuration, at: .zero, origin: .zero),
            FLVTag(frame, videoCodec: configuration.videoCodec ?? .h264, origin: .zero),
        ]
        return FLVTag.fileHeader + tags.flatMap(\.encoded)
    }
}
