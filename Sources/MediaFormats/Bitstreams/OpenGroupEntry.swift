import EncodedMedia

/// Lets a program or a decoder begin in the middle of a stream, whose groups of pictures may be open.
///
/// Pictures that follow the first one but are shown before it (leading pictures) may refer to the previous group, which
/// is missing here: they are dropped. Nothing is lost if the earlier content reaches up to the time of the first
/// picture: they would then be shown a second time.
///
/// An open group of H.265 begins with a CRA picture, which is marked as a BLA picture without leading pictures: that is
/// how the standard marks a splice (ITU-T H.265 §3.9, §7.4.2.2). H.264 has no such picture: a program begins with IDR
/// pictures only, which have no leading pictures, but a decoder may begin with the I picture of an open group
/// (`beginsOpenGroup`).
package struct OpenGroupEntry: Sendable {
    private static let cra: UInt8 = 21
    private static let blaWithoutLeading: UInt8 = 18
    /// RADL and RASL pictures.
    private static let leading: ClosedRange<UInt8> = 6...9

    private var configuration: VideoConfiguration?
    private var hasBegun = false
    private var dropsLeading = false
    /// Time at which the first picture is shown.
    private var beginning = MediaTime.zero

    package init() {}

    /// Records that a stream of this configuration begins with this picture.
    ///
    /// - Returns: The picture with which the stream begins.
    package mutating func begin(with frame: EncodedFrame, of configuration: VideoConfiguration?) -> EncodedFrame {
        self.configuration = configuration
        hasBegun = true
        beginning = frame.pts
        dropsLeading = configuration.map { $0.codec == .h265 || !frame.isIDR } ?? false
        guard let configuration, configuration.codec == .h265 else { return frame }
        var frame = frame
        var units = NALUnits(frame.payload, lengthSize: configuration.lengthSize).makeIterator()
        while let unit = units.next() {
            guard unit[unit.startIndex] >> 1 & 0x3F == Self.cra else { continue }
            frame.payload[unit.startIndex] = unit[unit.startIndex] & 0x81 | Self.blaWithoutLeading << 1
        }
        return frame
    }

    /// Returns whether a later picture, in decoding order, can be decoded and is not shown before the first one.
    package mutating func admits(_ frame: EncodedFrame) -> Bool {
        guard dropsLeading, frame.track == .video, let configuration else { return true }
        switch configuration.codec {
        case .h264:
            if frame.pts < beginning { return false }
        case .h265:
            let slice = NALUnits(frame.payload, lengthSize: configuration.lengthSize).first {
                NALUnitKind($0, configuration.codec).isSlice
            }
            guard let header = slice?.first else { return true }
            if Self.leading.contains(header >> 1 & 0x3F) { return false }
        }
        dropsLeading = false
        return true
    }

    /// Passes an item of a connection, which begins with its first keyframe.
    ///
    /// - Returns: `nil` for a picture that cannot be decoded.
    package mutating func pass(_ item: MediaItem) -> MediaItem? {
        switch item {
        case .configuration(let new):
            if new.track == .video, !hasBegun { configuration = VideoConfiguration(new) }
            return item
        case .frame(let frame) where frame.isIDR && !hasBegun:
            return .frame(begin(with: frame, of: configuration))
        case .frame(let frame): return admits(frame) ? item : nil
        case .discontinuity, .metadata: return item
        }
    }
}
