import EncodedMedia
import TextFormats

extension WebRTCOffer {
    /// What a viewer is sent: one picture, one sound, or both.
    public struct Viewing: Hashable, Sendable {
        public var video: Track?
        public var audio: Track?
    }

    /// Chooses what a viewer receives: H.264 with `packetization-mode=1` in the profile of the stream, or else in the highest
    /// one, because clients decode more than they offer; and Opus.
    ///
    /// The first picture and the first sound that qualify are taken. Who asks for sound alone gets it alone.
    ///
    /// - Parameter profile: The stream's; `nil` if it is not known yet.
    /// - Throws: Why nothing is sent; `isUnsuitable` is true for each.
    public func viewing(of profile: H264Profile?) throws(WebRTCOfferError) -> Viewing {
        func wanted(_ kind: Kind) -> [Int] { open(kind).filter { sections[$0].direction.receives } }
        let (pictures, sounds) = (wanted(.video), wanted(.audio))
        guard !pictures.isEmpty || !sounds.isEmpty else { throw .receivesNothing }
        var viewing = Viewing()
        if !pictures.isEmpty { viewing.video = try track(.video, of: pictures) { Self.h264($0, nearest: profile) } }
        if !sounds.isEmpty { viewing.audio = try track(.audio, of: sounds, Self.opus) }
        return viewing
    }

    private static func h264(_ section: Section, nearest profile: H264Profile?) -> Format? {
        let formats = formatsOfH264(section)
        // Of several the first one, which the client likes best.
        guard let highest = formats.map(\.profile).max() else { return nil }
        return (formats.first { $0.profile == profile } ?? formats.first { $0.profile == highest })?.format
    }
}

extension WebRTCOffer.H264Profile {
    /// The profile of a stream; `nil` if it is none that WebRTC clients know.
    package init?(_ configuration: CodecConfiguration) {
        guard configuration.videoCodec == .h264, configuration.bytes.count >= 4 else { return nil }
        // AVCProfileIndication, profile_compatibility and AVCLevelIndication (ISO/IEC 14496-15 §5.3.3.1) are what
        // `profile-level-id` has.
        self.init(
            profileLevelID: Hexadecimal.text(configuration.bytes[1...3]))
    }
}
