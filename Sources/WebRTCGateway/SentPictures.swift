import EncodedMedia
import MediaFormats

/// The pictures of a program as a WebRTC receiver is sent them: byte streams with their parameter sets in band. Pure.
///
/// Before there is a connection the current group of pictures is kept. It is sent first, all within milliseconds, so that the
/// receiver has a picture and is no later than the program.
struct SentPictures: Sendable {
    struct Picture: Hashable, Sendable {
        /// Presentation time on the program's timeline.
        var time: MediaTime
        var bytes: [UInt8]
        var isIDR: Bool
    }

    /// Most that is kept: a group beyond that is no beginning, and the next one is waited for.
    static let most = (pictures: 600, bytes: 8 << 20)
    /// Distance between the times of pictures that were kept.
    static let squeezed = MediaTime.milliseconds(1)

    private var converter: AccessUnitBytes?
    private var lengthSize = 4
    private var kept: [Picture] = []
    private var keptBytes = 0
    private var hasBegun = false
    private var waitsForIDR = true
    /// Whether the stream shows pictures in another order than that in which it has them.
    private var isReordered = false

    init() {}

    /// Takes the next item and returns the pictures to be sent now.
    mutating func take(_ item: MediaItem) -> [Picture] {
        switch item {
        case .configuration(let configuration):
            guard configuration.track == .video else { return [] }
            converter = AccessUnitBytes(configuration)
            lengthSize = VideoConfiguration(configuration)?.lengthSize ?? 4
            return []
        case .discontinuity, .metadata: return []
        case .frame(let frame):
            guard frame.track == .video, let picture = picture(frame) else { return [] }
            if hasBegun { return [picture] }
            keep(picture)
            return []
        }
    }

    /// Begins to send: returns what was kept, with times that end at that of the newest picture.
    mutating func begin() -> [Picture] {
        hasBegun = true
        defer { (kept, keptBytes) = ([], 0) }
        guard let last = kept.last else { return [] }
        return kept.enumerated().map { index, picture in
            var picture = picture
            picture.time = last.time - Self.squeezed * Int64(kept.count - 1 - index)
            return picture
        }
    }

    private mutating func keep(_ picture: Picture) {
        if picture.isIDR { (kept, keptBytes) = ([], 0) }
        kept.append(picture)
        keptBytes += picture.bytes.count
        if kept.count > Self.most.pictures || keptBytes > Self.most.bytes {
            (kept, keptBytes) = ([], 0)
            waitsForIDR = true
        }
    }

    private mutating func picture(_ frame: EncodedFrame) -> Picture? {
        if frame.isIDR { waitsForIDR = false }
        guard !waitsForIDR, let converter, converter.codec == .h264 else { return nil }
        if frame.pts != frame.dts { isReordered = true }
        // Receivers show pictures in the order in which they come. Those that no other picture needs are left out; without them
        // the usual streams are in order.
        if isReordered, !frame.isIDR, Self.isDisposable(frame.payload, lengthSize: lengthSize) { return nil }
        return Picture(time: frame.pts, bytes: converter.bytes(of: frame, delimits: false), isIDR: frame.isIDR)
    }

    /// Whether no other picture refers to this one: `nal_ref_idc` of its slices is 0 (ITU-T H.264 §7.4.1).
    private static func isDisposable(_ payload: [UInt8], lengthSize: Int) -> Bool {
        let slices = NALUnits(payload, lengthSize: lengthSize).filter { unit in
            unit.first.map { 1...5 ~= $0 & 31 } ?? false
        }
        return !slices.isEmpty && slices.allSatisfy { $0.first.map { $0 & 0x60 == 0 } ?? true }
    }
}
