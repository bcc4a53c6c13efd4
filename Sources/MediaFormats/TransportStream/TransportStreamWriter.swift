import EncodedMedia

/// Writes segments of an MPEG transport stream that can be played one after another and each by itself (ISO/IEC
/// 13818-1; RFC 8216 §3.2): each segment begins with the tables, and every counter continues.
public struct TransportStreamWriter: Sendable {
    private var association = TransportPacketizer(identifier: 0)
    private var map = TransportPacketizer(identifier: ProgramTables.mapIdentifier)
    private var video = TransportPacketizer(identifier: ProgramTables.videoIdentifier)
    private var audio = TransportPacketizer(identifier: ProgramTables.audioIdentifier)

    /// Stream time of program time 0, so that frames decoded before program time 0 have a valid time.
    public static let origin = MediaTime.seconds(10)
    /// Lag of the program clock behind the time of the frame that carries it.
    private static let delay = MediaTime.milliseconds(300)
    /// Duration of audio that shares one PES packet, whose overhead would otherwise be a tenth of it.
    private static let grouping = MediaTime.milliseconds(100)
    /// Largest payload of audio in bytes: its PES packet must state its length, with 3 bytes of flags and 5 of time.
    private static let mostGrouped = 0xFFFF - 8

    public init() {}

    /// Returns the bytes of one segment.
    ///
    /// - Parameters:
    ///   - frames: Frames in decoding order, audio at its presentation time. Frames without a configuration are
    ///     dropped.
    ///   - isDiscontinuity: Whether the segment does not continue where the previous one ended.
    ///   - hasTables: Whether to begin with the tables, so that a receiver can join here.
    ///   - isWhole: Whether the clock must be in these frames even if they have no picture. Pictures that are about to
    ///     follow bring it otherwise.
    public mutating func segment(
        _ frames: [EncodedFrame], video pictures: CodecConfiguration?, audio sound: CodecConfiguration?,
        isDiscontinuity: Bool = false, hasTables: Bool = true, isWhole: Bool = true
    ) -> [UInt8] {
        let accessUnits = pictures.flatMap(AccessUnitBytes.init)
        let header = sound.flatMap { AudioSpecificConfig($0.bytes) }.flatMap { ADTSHeader($0) }
        var output: [UInt8] = []
        output.reserveCapacity(frames.reduce(4096) { $0 + $1.payload.count * 9 / 8 + 376 })
        if hasTables {
            association.write(ProgramTables.association, into: &output)
            map.write(ProgramTables.map(video: accessUnits?.codec, audio: header != nil), into: &output)
        }

        let isMissingPictures = isWhole && accessUnits != nil && !frames.contains { $0.track == .video }
        var group: [UInt8] = []
        var groupStart = MediaTime.zero
        var isFresh = isDiscontinuity
        var isFirst = true
        func adaptation(at time: MediaTime, isRandomAccess: Bool) -> TransportPacketizer.Adaptation {
            defer { (isFresh, isFirst) = (false, false) }
            return TransportPacketizer.Adaptation(
                clock: Self.ticks(time - Self.delay), isRandomAccess: isRandomAccess, isDiscontinuity: isFresh)
        }
        func flush() {
            guard !group.isEmpty else { return }
            let packet = Self.packet(stream: 0xC0, pts: groupStart, dts: groupStart, payload: group, isBounded: true)
            let isClock = accessUnits == nil
            // The tables name the video's packets as those with the clock.
            if isMissingPictures { video.write(adaptation(at: groupStart, isRandomAccess: false), into: &output) }
            audio.write(
                packet, isClock ? adaptation(at: groupStart, isRandomAccess: isFirst) : .init(), into: &output)
            group = []
        }
        for frame in frames {
            switch frame.track {
            case .audio:
                guard let header, frame.payload.count < 8184 else { continue }
                let size = ADTSHeader.length + frame.payload.count
                let isFull = frame.pts - groupStart >= Self.grouping || group.count + size > Self.mostGrouped
                if isFull { flush() }
                if group.isEmpty { groupStart = frame.pts }
                group += header.bytes(frame: frame.payload.count)
                group += frame.payload
            case .video:
                guard let accessUnits else { continue }
                if frame.dts - groupStart >= Self.grouping { flush() }
                let packet = Self.packet(
                    stream: 0xE0, pts: frame.pts, dts: frame.dts, payload: accessUnits.bytes(of: frame),
                    isBounded: false)
                video.write(packet, adaptation(at: frame.dts, isRandomAccess: frame.isIDR), into: &output)
            }
        }
        flush()
        return output
    }

    /// Returns the stream time of a program time in units of 90 kHz, before it is cut to 33 bits.
    static func ticks(_ time: MediaTime) -> Int64 {
        let nanoseconds = (time + origin).nanoseconds
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 100_000)
        return whole * 9 + (rest * 9 + (nanoseconds < 0 ? -50_000 : 50_000)) / 100_000
    }

    /// Returns a PES packet (§2.4.3.6).
    private static func packet(
        stream: UInt8, pts: MediaTime, dts: MediaTime, payload: [UInt8], isBounded: Bool
    ) -> [UInt8] {
        let isReordered = pts != dts
        let times =
            isReordered ? stamp(ticks(pts), prefix: 3) + stamp(ticks(dts), prefix: 1) : stamp(ticks(pts), prefix: 2)
        // Only video may leave the length open, and a picture may not fit.
        let length = payload.count + times.count + 3
        let written = isBounded && length <= 0xFFFF ? length : 0
        var bytes: [UInt8] = [
            0, 0, 1, stream, UInt8(written >> 8), UInt8(written & 0xFF), 0x84, isReordered ? 0xC0 : 0x80,
            UInt8(times.count),
        ]
        bytes.reserveCapacity(bytes.count + times.count + payload.count)
        bytes += times
        bytes += payload
        return bytes
    }

    private static func stamp(_ ticks: Int64, prefix: UInt8) -> [UInt8] {
        let value = UInt64(bitPattern: ticks) & 0x1_FFFF_FFFF
        return [
            prefix << 4 | UInt8(truncatingIfNeeded: value >> 30 & 7) << 1 | 1,
            UInt8(truncatingIfNeeded: value >> 22),
            UInt8(truncatingIfNeeded: value >> 15 & 0x7F) << 1 | 1,
            UInt8(truncatingIfNeeded: value >> 7),
            UInt8(truncatingIfNeeded: value & 0x7F) << 1 | 1,
        ]
    }
}
