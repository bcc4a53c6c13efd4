extension WebRTCOffer {
    /// A profile of H.264. Profiles that demand less of decoders are preferred.
    public enum H264Profile: Int, Hashable, Sendable, Comparable {
        case constrainedBaseline, baseline, main, high

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        /// Reads `profile-level-id` (RFC 6184 §8.1, table 5).
        ///
        /// - Returns: `nil` for other profiles, and for text that is not six hexadecimal digits.
        public init?(profileLevelID text: String) {
            guard text.utf8.count == 6, text.utf8.first != UInt8(ascii: "+"), let value = UInt32(text, radix: 16) else {
                return nil
            }
            let (profile, constraints) = (value >> 16, value >> 8 & 0xFF)
            switch profile {
            case 0x42: self = constraints & 0x40 != 0 ? .constrainedBaseline : .baseline
            case 0x4D: self = constraints & 0x80 != 0 ? .constrainedBaseline : .main
            case 0x64: self = .high
            default: return nil
            }
        }
    }

    /// The format that is accepted from a section.
    public struct Track: Hashable, Sendable {
        /// Index of the section in `sections`.
        public var section: Int
        public var format: Format
        /// Payload type of its retransmissions.
        public var retransmission: Int?
    }

    /// The accepted part of an offer: one video track, and one audio track if there is any.
    public struct Publication: Hashable, Sendable {
        public var video: Track
        public var audio: Track?
    }

    /// Value of `profile-level-id` if it is absent (RFC 6184 §8.1).
    private static let defaultProfileLevelID = "42000a"
    private static let mostNames = 16

    /// Chooses the tracks of a publisher: H.264 with `packetization-mode=1` in the simplest profile, and Opus.
    ///
    /// The first video track and the first audio track that qualify are accepted.
    ///
    /// - Throws: The reason why nothing is accepted; `isUnsuitable` is true for each error.
    public func publication() throws(WebRTCOfferError) -> Publication {
        guard let video = try track(.video, Self.h264) else { throw .noVideo }
        return Publication(video: video, audio: try track(.audio, Self.opus))
    }

    /// Returns the sections of this kind that the client wants to use.
    func open(_ kind: Kind) -> [Int] {
        sections.indices.filter { sections[$0].kind == kind && !sections[$0].isRejected }
    }

    /// - Returns: `nil` if the offer has no section of this kind.
    private func track(_ kind: Kind, _ choice: (Section) -> Format?) throws(WebRTCOfferError) -> Track? {
        let offered = open(kind)
        guard !offered.isEmpty else { return nil }
        let sent = offered.filter { sections[$0].direction.sends }
        guard !sent.isEmpty else {
            // A client that offers only to receive audio has none to send, which is not an error.
            if kind == .audio { return nil }
            throw .sendsNothing(kind)
        }
        return try track(kind, of: sent, choice)
    }

    /// Returns the first of these sections of one kind that has the format and is in the bundle.
    func track(_ kind: Kind, of places: [Int], _ choice: (Section) -> Format?) throws(WebRTCOfferError) -> Track {
        for index in places {
            let section = sections[index]
            guard let format = choice(section) else { continue }
            guard section.multiplexesRTCP, places.count == 1 && sections.count == 1 || bundle.contains(section.mid)
            else { throw .separateTransports }
            return Track(
                section: index, format: format, retransmission: section.retransmission(of: format.payload))
        }
        var names: [String] = []
        for format in places.lazy.flatMap({ sections[$0].formats }) {
            let isMedia = !["RTX", "RED", "ULPFEC", "FLEXFEC-03", "CN", "TELEPHONE-EVENT"].contains(format.encoding)
            guard isMedia, !names.contains(format.encoding), names.count < Self.mostNames else { continue }
            names.append(format.encoding)
        }
        throw kind == .video ? .noH264(offered: names) : .noOpus(offered: names)
    }

    private static func h264(_ section: Section) -> Format? {
        formatsOfH264(section).reduce(nil as (profile: H264Profile, format: Format)?) { best, next in
            best.map { next.profile < $0.profile } ?? true ? next : best
        }?.format
    }

    /// The formats of H.264 with `packetization-mode=1`.
    static func formatsOfH264(_ section: Section) -> [(profile: H264Profile, format: Format)] {
        section.formats.compactMap { format in
            guard format.encoding == "H264", format.clockRate == 90_000, format["packetization-mode"] == "1",
                let profile = H264Profile(profileLevelID: format["profile-level-id"] ?? defaultProfileLevelID)
            else { return nil }
            return (profile, format)
        }
    }

    static func opus(_ section: Section) -> Format? {
        section.formats.first { $0.encoding == "OPUS" && $0.clockRate == 48_000 }
    }
}
