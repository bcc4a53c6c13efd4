import EncodedMedia

/// A publisher's audio or video message, parsed as far as a server needs before it passes it on.
///
/// The accepted codecs are those that relays carry and those that they transcode (`ForeignCodec`). Of Enhanced RTMP v2,
/// modifiers are removed, and of several tracks only the first one is kept, so that the result is a tag that readers of
/// v1 understand ("ExVideoTagHeader", "ExAudioTagHeader").
package enum PublishedTag: Hashable, Sendable {
    case tag(FLVTag)
    /// A command to players, the end of a sequence, another track, or nothing at all.
    case nothing
    case unsupported(FLVReader.Failure)

    /// The FourCCs of the accepted codecs.
    package static let fourCCs = ["avc1", "hvc1", "mp4a", "av01", "vp09", ".mp3"]

    /// - Parameter timestamp: Decoding time in ms.
    package init(_ kind: FLVTag.Kind, timestamp: UInt32, body: [UInt8]) {
        guard let first = body.first, body.count > 1 else {
            self = .nothing
            return
        }
        switch kind {
        case .script: self = .nothing
        case .video:
            self =
                first & 0x80 == 0
                ? Self.video(body, timestamp) : Self.enhanced(.video, flags: first & 0x70, body, timestamp)
        case .audio:
            self =
                first >> 4 == Self.enhancedAudio
                ? Self.enhanced(.audio, flags: 0, body, timestamp) : Self.audio(body, timestamp)
        }
    }

    /// The sound format that announces a FourCC.
    private static let enhancedAudio: UInt8 = 9

    private static func video(_ body: [UInt8], _ timestamp: UInt32) -> PublishedTag {
        let frameType = body[0] >> 4
        guard frameType != 5 else { return .nothing }
        guard body[0] & 0x0F == 7 || ForeignCodec(.video, body: body) != nil else {
            return .unsupported(.unsupportedCodec(.video, codec: String(body[0] & 0x0F)))
        }
        guard body.count >= 5 else { return .nothing }
        return switch body[1] {
        case 0: .tag(FLVTag(role: .sequenceHeader(.video), timestamp: timestamp, body: body))
        case 1: .tag(FLVTag(role: .frame(.video, isIDR: frameType == 1), timestamp: timestamp, body: body))
        default: .nothing
        }
    }

    private static func audio(_ body: [UInt8], _ timestamp: UInt32) -> PublishedTag {
        guard body[0] >> 4 == 10 else {
            if ForeignCodec(.audio, body: body) != nil {
                return .tag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: timestamp, body: body))
            }
            return .unsupported(.unsupportedCodec(.audio, codec: String(body[0] >> 4)))
        }
        let role: FLVTag.Role = body[1] == 0 ? .sequenceHeader(.audio) : .frame(.audio, isIDR: false)
        return .tag(FLVTag(role: role, timestamp: timestamp, body: body))
    }

    // MARK: - Enhanced RTMP

    private enum Packet {
        static let sequenceStart: UInt8 = 0
        static let codedFrames: UInt8 = 1
        /// Frames without a composition time offset; video only.
        static let codedFramesX: UInt8 = 3
        static func multitrack(_ track: Track) -> UInt8 { track == .video ? 6 : 5 }
        static let modifier: UInt8 = 7
    }

    /// - Parameter flags: Frame type of a video tag.
    private static func enhanced(
        _ track: Track, flags: UInt8, _ body: [UInt8], _ timestamp: UInt32
    ) -> PublishedTag {
        var rest = body.dropFirst()
        var packet = body[0] & 0x0F
        while packet == Packet.modifier {
            guard let next = skipModifier(&rest) else { return .nothing }
            packet = next
        }
        // A command to the player (frame type 5).
        guard !(track == .video && flags == 0x50) else { return .nothing }
        if packet == Packet.multitrack(track) {
            guard let first = takeFirstTrack(&rest) else { return .nothing }
            packet = first
        }
        let fourCC = rest.prefix(4)
        guard fourCC.count == 4 else { return .nothing }
        let isKnown =
            switch track {
            case .video: fourCC.elementsEqual(FLVTag.avcFourCC)
            case .audio: fourCC.elementsEqual(FLVTag.aacFourCC)
            }
        let head: UInt8 = track == .video ? 0x80 | flags | packet : enhancedAudio << 4 | packet
        guard isKnown || ForeignCodec(track, body: [head] + fourCC) != nil else {
            // Untrusted bytes: only printable ASCII is shown.
            let name = String(fourCC.map { 0x21...0x7E ~= $0 ? Character(UnicodeScalar($0)) : "?" })
            return .unsupported(.unsupportedCodec(track, codec: name))
        }
        func tag(_ role: FLVTag.Role) -> PublishedTag {
            .tag(FLVTag(role: role, timestamp: timestamp, body: rest.count + 1 == body.count ? body : [head] + rest))
        }
        switch (packet, track) {
        case (Packet.sequenceStart, _): return tag(.sequenceHeader(track))
        case (Packet.codedFrames, .audio): return tag(.frame(.audio, isIDR: false))
        case (Packet.codedFrames, .video), (Packet.codedFramesX, .video):
            return tag(.frame(.video, isIDR: flags == 0x10))
        default: return .nothing
        }
    }

    /// Skips a modifier, whose length is in one byte or, if that is 255, in the two following bytes.
    ///
    /// - Returns: The type of the packet that it modifies; `nil` if the tag ends before.
    private static func skipModifier(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let short = rest.popFirst() else { return nil }
        var length = Int(short) + 1
        if short == 0xFF {
            guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
            length = (Int(high) << 8 | Int(low)) + 1
        }
        guard rest.count > length else { return nil }
        rest = rest.dropFirst(length)
        return rest.popFirst().map { $0 & 0x0F }
    }

    /// Reduces the tag to the FourCC and the body of the track with number 0.
    ///
    /// - Returns: The type of its packet; `nil` if there is no such track.
    private static func takeFirstTrack(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let kinds = rest.popFirst() else { return nil }
        let (form, packet) = (kinds >> 4, kinds & 0x0F)
        guard form <= 2 else { return nil }
        var fourCC: ArraySlice<UInt8> = []
        func takeFourCC() -> Bool {
            fourCC = rest.prefix(4)
            rest = rest.dropFirst(4)
            return fourCC.count == 4
        }
        if form != 2, !takeFourCC() { return nil }
        while !rest.isEmpty {
            if form == 2, !takeFourCC() { return nil }
            guard let number = rest.popFirst() else { return nil }
            var body = rest
            if form != 0 {
                guard let size = rest.bigEndian(Int.self, at: rest.startIndex, bytes: 3), rest.count - 3 >= size else {
                    return nil
                }
                body = rest.dropFirst(3).prefix(size)
                rest = rest.dropFirst(3 + size)
            } else {
                rest = []
            }
            if number == 0 {
                rest = fourCC + body
                return packet
            }
        }
        return nil
    }
}
