import EncodedMedia

/// The tracks of an MP4 recording and their decoder configurations.
public struct MP4Movie: Hashable, Sendable {
    /// Configuration of the first pictures; `nil` means no video. Later pictures may differ in everything but the
    /// codec, because parameter sets are in band (`avc3` and `hev1`, ISO/IEC 14496-15 §5.3.2, §8.3.2).
    public var video: CodecConfiguration?
    /// AudioSpecificConfig of the whole file; `nil` means no audio.
    public var audio: [UInt8]?

    /// Units of video times per second; a millisecond is a whole number of units.
    public static let videoTimescale = 90_000
    /// Units of movie times per second.
    package static let movieTimescale = 90_000

    package static let videoTrack = 1
    package static let audioTrack = 2

    public init(video: CodecConfiguration?, audio: [UInt8]?) {
        self.video = video
        self.audio = audio
    }

    package var audioFormat: AudioSpecificConfig? { audio.flatMap { AudioSpecificConfig($0) } }

    /// Units of audio times per second; one for each sample.
    public var audioTimescale: Int { audioFormat?.sampleRate ?? 48_000 }

    /// The beginning of a file, before the first fragment: a fragmented movie (ISO/IEC 14496-12 §8.8).
    ///
    /// The free box reserves room for the header of the single `mdat` of an indexed file: see `MP4Index`.
    public var header: [UInt8] {
        var writer = MP4Writer()
        writer.append(Self.fileType)
        writer.append(Self.placeholder)
        writer.box("moov") { writer in
            Self.movieHeader(duration: 0, &writer)
            if let entry = videoEntry {
                writer.track(MP4TrackBox(id: Self.videoTrack, timescale: Self.videoTimescale, size: size, entry: entry))
            }
            if let entry = audioEntry {
                writer.track(MP4TrackBox(id: Self.audioTrack, timescale: audioTimescale, size: nil, entry: entry))
            }
            writer.box("mvex") { writer in
                for track in [video.map { _ in Self.videoTrack }, audio.map { _ in Self.audioTrack }].compactMap(\.self)
                {
                    writer.fullBox("trex") { writer in
                        writer.uint32(track)
                        writer.uint32(1)
                        writer.zeros(12)
                    }
                }
            }
        }
        return writer.bytes
    }

    package static let fileType = MP4Writer.box("ftyp") { writer in
        writer.append("isom".utf8)
        writer.uint32(0x200)
        for brand in ["isom", "iso6", "mp41"] { writer.append(brand.utf8) }
    }

    /// A free box with the length of a box header with a 64-bit size (§4.2).
    package static let placeholder = MP4Writer.box("free") { $0.zeros(8) }

    /// Writes the movie header. `duration` is in units of `movieTimescale`.
    static func movieHeader(duration: Int64, _ writer: inout MP4Writer) {
        writer.fullBox("mvhd", version: 1) { writer in
            writer.zeros(16)
            writer.uint32(movieTimescale)
            writer.uint64(duration)
            writer.uint32(0x0001_0000)
            writer.uint16(0x0100)
            writer.zeros(10)
            writer.unityMatrix()
            writer.zeros(24)
            writer.uint32(3)
        }
    }

    private var size: (width: Int, height: Int)? {
        guard let parameters = video.flatMap({ VideoConfiguration($0)?.sequenceParameters }) else { return (0, 0) }
        return (parameters.width, parameters.height)
    }

    private var videoEntry: [UInt8]? {
        guard let video, let codec = video.videoCodec else { return nil }
        var record = video.bytes
        // Lengths of NAL units are always written in four bytes.
        let lengthIndex = codec == .h264 ? 4 : 21
        guard record.count > lengthIndex else { return nil }
        record[lengthIndex] |= 3
        let names = Self.boxNames(codec)
        return MP4Writer.box(names.entry) { writer in
            writer.zeros(6)
            writer.uint16(1)
            writer.zeros(16)
            writer.uint16(min(size?.width ?? 0, 0xFFFF))
            writer.uint16(min(size?.height ?? 0, 0xFFFF))
            writer.uint32(0x0048_0000)
            writer.uint32(0x0048_0000)
            writer.zeros(4)
            writer.uint16(1)
            writer.zeros(32)
            writer.uint16(0x0018)
            writer.uint16(0xFFFF)
            writer.box(names.record) { $0.append(record) }
        }
    }

    fileprivate static func boxNames(_ codec: VideoCodec) -> (entry: String, record: String) {
        switch codec {
        case .h264: ("avc3", "avcC")
        case .h265: ("hev1", "hvcC")
        }
    }

    private var audioEntry: [UInt8]? {
        guard let audio, let format = audioFormat else { return nil }
        return MP4Writer.box("mp4a") { writer in
            writer.zeros(6)
            writer.uint16(1)
            writer.zeros(8)
            writer.uint16(format.channels)
            writer.uint16(16)
            writer.zeros(4)
            writer.uint32(min(format.sampleRate, 0xFFFF) << 16)
            writer.fullBox("esds") { writer in writer.descriptors(audio) }
        }
    }
}

extension MP4Writer {
    mutating func unityMatrix() {
        for value in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] { uint32(value) }
    }

    /// Writes an ES_Descriptor with AAC as MPEG-4 audio (ISO/IEC 14496-1 §7.2.6.5).
    fileprivate mutating func descriptors(_ configuration: [UInt8]) {
        func descriptor(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] {
            // Lengths have 7 bits a byte and always take four bytes.
            let length = [21, 14, 7, 0].map { shift in UInt8(body.count >> shift & 0x7F) | (shift > 0 ? 0x80 : 0) }
            return [tag] + length + body
        }
        // AAC, audio stream; buffer size and bit rates are not given.
        let type: [UInt8] = [0x40, 0x15]
        let decoder = type + [UInt8](repeating: 0, count: 11) + descriptor(5, configuration)
        let stream: [UInt8] = [0, 0, 0] + descriptor(4, decoder) + descriptor(6, [2])
        append(descriptor(3, stream))
    }
}

extension MP4Movie {
    /// Reads a `moov` box written by `header`; `nil` for any other bytes.
    public init?(box bytes: [UInt8]) {
        let reader = MP4Reader(bytes: bytes)
        guard let movie = reader.box("moov", in: 0..<bytes.count) else { return nil }
        self.init(video: nil, audio: nil)
        for track in reader.boxes(in: movie.range) where track.type == "trak" {
            guard let entries = reader.box("mdia", "minf", "stbl", "stsd", in: track.range),
                let entry = reader.boxes(in: entries.range.dropFirst(8)).first
            else { return nil }
            switch entry.type {
            case "avc3", "hev1":
                let codec: VideoCodec = entry.type == "hev1" ? .h265 : .h264
                let record = reader.boxes(in: entry.range.dropFirst(78)).first {
                    $0.type == Self.boxNames(codec).record
                }
                video = record.map { CodecConfiguration(codec, bytes: Array(bytes[$0.range])) }
            case "mp4a":
                // The configuration follows version, ES, decoder and their lengths: 4 + 8 + 18 + 5 bytes.
                guard let stream = reader.boxes(in: entry.range.dropFirst(28)).first(where: { $0.type == "esds" }),
                    stream.range.count > 35
                else { return nil }
                let start = stream.range.lowerBound + 35
                let length = Int(bytes[start - 1])
                guard start + length <= stream.range.upperBound else { return nil }
                audio = Array(bytes[start..<start + length])
            default: return nil
            }
        }
    }
}
