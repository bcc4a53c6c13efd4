import EncodedMedia
import MediaFormats

/// Prepares the pictures of a program for a WebRTC receiver. Pure.
///
/// Before there is a connection, the current group of pictures is kept. It is sent first, within milliseconds, so that
/// the receiver has a picture at once and does not lag behind the program.
struct SentPictures: Sendable {
    /// Distance between the times of kept pictures.
    static let squeezed = MediaTime.milliseconds(1)

    private var maker: WebRTCPicture.Maker?
    private var group = PictureGroup()
    private var hasBegun = false
    private var waitsForIDR = true
    /// Whether the stream's presentation order differs from its decoding order.
    private var isReordered = false

    init() {}

    /// Accepts the next item and returns the pictures to send now.
    mutating func take(_ item: MediaItem) -> [WebRTCPicture] {
        switch item {
        case .configuration(let configuration):
            if configuration.track == .video { maker = WebRTCPicture.Maker(configuration) }
            return []
        case .discontinuity, .metadata: return []
        case .frame(let frame):
            guard frame.track == .video, let picture = picture(frame) else { return [] }
            if hasBegun { return [picture] }
            group.append(picture)
            waitsForIDR = group.pictures.isEmpty
            return []
        }
    }

    /// Begins to send: returns the kept pictures, with times that end at that of the newest one.
    mutating func begin() -> [WebRTCPicture] {
        let kept = group.pictures
        hasBegun = true
        group = PictureGroup()
        guard let last = kept.last else { return [] }
        return kept.enumerated().map { index, picture in
            var picture = picture
            picture.time = last.time - Self.squeezed * Int64(kept.count - 1 - index)
            return picture
        }
    }

    private mutating func picture(_ frame: EncodedFrame) -> WebRTCPicture? {
        if frame.isIDR { waitsForIDR = false }
        guard !waitsForIDR, let maker, maker.codec == .h264 else { return nil }
        if frame.pts != frame.dts { isReordered = true }
        // Without pictures that no other picture references, common streams are in order.
        if isReordered, !frame.isIDR, maker.isDisposable(frame) { return nil }
        return maker.picture(frame, at: frame.pts)
    }
}
