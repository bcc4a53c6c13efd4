import EncodedMedia

/// A codec that FLV can carry and programs cannot, but for which a decoder is commonly available. Its tracks have to be
/// transcoded. The raw value is its display name.
package enum ForeignCodec: String, Hashable, Sendable, CaseIterable {
    case h265 = "H.265"
    case av1 = "AV1"
    case vp9 = "VP9"
    case mp3 = "MP3"
    case speex = "Speex"
    case aLaw = "G.711 A-law"
    case muLaw = "G.711 µ-law"
    case nellymoser = "Nellymoser"

    package var track: Track {
        switch self {
        case .h265, .av1, .vp9: .video
        case .mp3, .speex, .aLaw, .muLaw, .nellymoser: .audio
        }
    }

    /// Finds the codec of a tag by FLV's number for it (§E.4.2.1, §E.4.3.1; 12 is H.265 by common usage), or by the
    /// FourCC of Enhanced RTMP; `nil` for every other codec.
    ///
    /// - Parameter body: Body of a tag without modifiers and other tracks (`PublishedTag`).
    package init?(_ track: Track, body: some Collection<UInt8>) {
        guard let first = body.first else { return nil }
        let fourCC = String(decoding: body.dropFirst().prefix(4), as: UTF8.self)
        switch track {
        case .video where first & 0x80 != 0:
            switch fourCC {
            case "hvc1": self = .h265
            case "av01": self = .av1
            case "vp09": self = .vp9
            default: return nil
            }
        case .video:
            guard first & 0x0F == 12 else { return nil }
            self = .h265
        case .audio where first >> 4 == 9:
            guard fourCC == ".mp3" else { return nil }
            self = .mp3
        case .audio:
            switch first >> 4 {
            case 2, 14: self = .mp3
            case 4, 5, 6: self = .nellymoser
            case 7: self = .aLaw
            case 8: self = .muLaw
            case 11: self = .speex
            default: return nil
            }
        }
    }
}

/// A tag of a `ForeignCodec`, parsed as far as a decoder needs it.
package struct ForeignTag: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// The codec's configuration record.
        case configuration([UInt8])
        /// An access unit, with its composition time offset in ms.
        case frame([UInt8], offset: Int32, isKey: Bool)
    }

    package let codec: ForeignCodec
    package let content: Content
    /// Sample rate in Hz and number of channels of a codec without a configuration; `nil` for others.
    package let sound: Sound?

    package struct Sound: Hashable, Sendable {
        package var sampleRate: Int
        package var channels: Int
    }

    /// Reads the body of a tag; `nil` if it is of another codec or contains nothing to decode.
    package init?(_ track: Track, body: [UInt8]) {
        guard let codec = ForeignCodec(track, body: body), let first = body.first else { return nil }
        self.codec = codec
        switch track {
        case .audio:
            let isEnhanced = first >> 4 == 9
            // In Enhanced RTMP, only coded frames (packet type 1) contain audio; MP3 has no configuration.
            guard !isEnhanced || first & 0x0F == 1 else { return nil }
            content = .frame(Array(body.dropFirst(isEnhanced ? 5 : 1)), offset: 0, isKey: true)
            sound = Sound(codec, flags: first)
        case .video:
            sound = nil
            let isEnhanced = first & 0x80 != 0
            let packet = isEnhanced ? first & 0x0F : body.dropFirst().first
            let isKey = first >> 4 & 7 == 1
            // A command to the player.
            guard first >> 4 & 7 != 5 else { return nil }
            let start = isEnhanced ? 5 : 2
            // Of these codecs only H.265 has a composition time offset, and packet type 3 has none.
            let hasOffset = codec == .h265 && packet != 3
            switch packet {
            case 0: content = .configuration(Array(body.dropFirst(5)))
            case 1, 3:
                let offset = hasOffset ? body.bigEndian(UInt32.self, at: start, bytes: 3) : 0
                guard let offset else { return nil }
                content = .frame(
                    Array(body.dropFirst(hasOffset ? start + 3 : start)), offset: Int32(bitPattern: offset << 8) >> 8,
                    isKey: isKey)
            default: return nil
            }
        }
    }
}

extension ForeignTag.Sound {
    /// Reads the flags of an audio tag (§E.4.2.1). Some codecs have a fixed rate, regardless of the flags.
    fileprivate init?(_ codec: ForeignCodec, flags: UInt8) {
        let rates = [5_512, 11_025, 22_050, 44_100]
        let channels = Int(flags & 1) + 1
        let rate = rates[Int(flags >> 2 & 3)]
        switch codec {
        case .h265, .av1, .vp9: return nil
        // The frame states it, and the parser reads it there.
        case .mp3: return nil
        case .speex: self.init(sampleRate: 16_000, channels: 1)
        case .aLaw, .muLaw: self.init(sampleRate: 8_000, channels: channels)
        case .nellymoser:
            switch flags >> 4 {
            case 4: self.init(sampleRate: 16_000, channels: 1)
            case 5: self.init(sampleRate: 8_000, channels: 1)
            default: self.init(sampleRate: rate, channels: channels)
            }
        }
    }
}
