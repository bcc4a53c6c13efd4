import EncodedMedia
import TextFormats

extension WebRTCOffer {
    /// The tracks that a viewer is sent: one video track, one audio track, or both.
    public struct Viewing: Hashable, Sendable {
        public var video: Track?
        public var audio: Track?
    }

    /// Chooses the tracks of a viewer: H.264 with `packetization-mode=1` in the profile of the stream, or else in the
    /// highest profile, because clients decode more than they offer; and Opus.
    ///
    /// The first video track and the first audio track that qualify are used. A viewer that requests only audio gets
    /// only audio.
    ///
    /// - Parameter profile: The stream's profile; `nil` if it is not known yet.
    /// - Throws: The reason why nothing is sent; `isUnsuitable` is true for each error.
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
        // Of several formats, the first one is the client's preference.
        guard let highest = formats.map(\.profile).max() else { return nil }
        return (formats.first { $0.profile == profile } ?? formats.first { $0.profile == highest })?.format
    }
}

extension WebRTCOffer.H264Profile {
    /// Creates the profile of a stream; `nil` if WebRTC clients do not support it.
    package init?(_ configuration: CodecConfiguration) {
        guard configuration.videoCodec == .h264, configuration.bytes.count >= 4 else { return nil }
        // AVCProfileIndication, profile_compatibility and AVCLevelIndication (ISO/IEC 14496-15 §5.3.3.1) are the bytes
        // of `profile-level-id`.
        self.init(
            profileLevelID: Hexadecimal.text(configuration.bytes[1...3]))
    }
}
