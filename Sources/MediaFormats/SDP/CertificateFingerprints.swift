/// The certificates that a session description names by their fingerprints (RFC 8122 §5). Pure.
public struct CertificateFingerprints: Hashable, Sendable {
    /// The fingerprints of which a certificate must have one; empty if no certificate is accepted.
    ///
    /// Media that are bundled share a transport. For separate transports, each certificate may be that of any of the
    /// media: the description, and with it all of these certificates, has one sender.
    public let accepted: Set<WebRTCOffer.Fingerprint>

    /// - Parameter description: An offer or an answer. One that cannot be read names no certificate.
    public init(of description: String) {
        guard let text = try? SDPText(description) else {
            accepted = []
            return
        }
        let shared = Self.strongest(of: text.session)
        var named: Set<WebRTCOffer.Fingerprint> = []
        for section in text.sections {
            // Those of the session are for the media that have none of their own.
            named.formUnion(section["fingerprint"] == nil ? shared : Self.strongest(of: section.attributes))
        }
        accepted = named
    }

    /// Returns whether a certificate is one of those.
    ///
    /// - Parameter digest: Returns the certificate's digest by the hash algorithm of this name, such as `sha-256`; `nil`
    ///   if there is none.
    public func admits(certificateWithDigest digest: (String) -> [UInt8]?) -> Bool {
        accepted.contains { digest($0.algorithm) == $0.digest }
    }

    /// Returns the fingerprints by the strongest of the algorithms, because a weaker one must not admit a certificate
    /// that a stronger one excludes (RFC 8122 §5.1).
    private static func strongest(of attributes: [SDPText.Attribute]) -> [WebRTCOffer.Fingerprint] {
        let all = attributes.values(named: "fingerprint").compactMap { WebRTCOffer.Fingerprint($0) }
        let longest = all.map(\.digest.count).max()
        return all.filter { $0.digest.count == longest }
    }
}
