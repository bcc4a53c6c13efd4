/// The offer of a WebRTC client to send or to receive (RFC 8829, RFC 8839, RFC 8842, RFC 9143).
public struct WebRTCOffer: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case audio, video, application
    }

    /// Direction of media, from the client's point of view.
    public enum Direction: String, Hashable, Sendable {
        case sendrecv, sendonly, recvonly, inactive

        public var sends: Bool { self == .sendrecv || self == .sendonly }
        public var receives: Bool { self == .sendrecv || self == .recvonly }
    }

    /// A format of a section.
    public struct Format: Hashable, Sendable {
        /// Payload type, 0…127.
        public var payload: Int
        /// Name of the encoding in upper case: `H264`, `OPUS`, `RTX`.
        public var encoding: String
        /// Clock rate in Hz.
        public var clockRate: Int
        public var channels: Int?
        /// The value of `a=fmtp` after the payload type; empty without one.
        public var parameters = ""
        /// The values of `a=rtcp-fb` that apply to it: `nack`, `nack pli`, `transport-cc`.
        public var feedback: [String] = []

        /// The value of a parameter, whose name is case-insensitive.
        public subscript(parameter: String) -> String? { WebRTCOffer.value(of: parameter, in: parameters) }
    }

    /// An RTP header extension (RFC 8285).
    public struct HeaderExtension: Hashable, Sendable {
        /// Identifier, 1…255.
        public var id: Int
        public var uri: String
    }

    /// Name and password of one side of ICE (RFC 8839 §5.4).
    public struct Credentials: Hashable, Sendable {
        public var name: String
        public var password: String
    }

    /// Digest of the certificate that the client shows in DTLS (RFC 8122 §5).
    public struct Fingerprint: Hashable, Sendable {
        /// Hash algorithm in lower case, such as `sha-256`.
        public var algorithm: String
        public var digest: [UInt8]
    }

    /// One `m=` with its attributes. Missing transport attributes are taken from the session or the bundle.
    public struct Section: Hashable, Sendable {
        public var kind: Kind
        /// Name in ICE and in the bundle; empty without `a=mid`.
        public var mid: String
        public var direction: Direction
        /// Whether the client rejects its use (port 0 without `bundle-only`).
        public var isRejected: Bool
        /// Formats in the client's order; without those that have neither a map nor a static payload type.
        public var formats: [Format]
        public var headerExtensions: [HeaderExtension]
        public var credentials: Credentials
        public var fingerprint: Fingerprint
        /// Value of `a=setup`: `actpass`, `active` or `passive`.
        public var setup: String
        public var multiplexesRTCP: Bool
        /// The values of `a=candidate`, at most `WebRTCOffer.mostCandidates`.
        public var candidates: [String]

        /// Returns the payload type for retransmissions of another one (RFC 4588 §8.6).
        public func retransmission(of payload: Int) -> Int? {
            formats.first { $0.encoding == "RTX" && $0["apt"] == String(payload) }?.payload
        }

        /// Returns the number of a header extension.
        public func headerExtension(_ uri: String) -> Int? { headerExtensions.first { $0.uri == uri }?.id }
    }

    /// Largest offer, in bytes.
    public static let longest = SDPText.longest
    /// Largest number of candidates of a section that are kept. Browsers have a few for each network.
    public static let mostCandidates = 64
    /// The header extension for transport-wide congestion control, by which a sender learns the capacity of the
    /// network.
    public static let transportWideCongestionControl =
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"

    /// Sections in the order of the offer, which the answer must keep.
    public var sections: [Section]
    /// The names of the sections that share one transport (RFC 9143); empty without a group.
    public var bundle: [String]

    /// Index in `sections` of the section whose transport the bundle uses.
    public var sectionOfTransport: Int { sections.firstIndex { $0.mid == bundle.first } ?? 0 }

    static func value(of name: String, in parameters: String) -> String? {
        for part in Substring(parameters).parts(between: ";") {
            let trimmed = part.drop { $0 == " " || $0 == "\t" }
            guard let equals = trimmed.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            guard trimmed[..<equals].lowercased().utf8.elementsEqual(name.lowercased().utf8) else { continue }
            return trimmed[trimmed.utf8.index(after: equals)...].token(limit: 1024)
        }
        return nil
    }
}
