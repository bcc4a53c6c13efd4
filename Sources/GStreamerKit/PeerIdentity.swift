import MediaFormats

/// The identity of the other side of a connection: the sender of the session description, if the certificates that it
/// shows in DTLS are among those that the description names (RFC 8827 §6.5). Pure.
///
/// A connection has one certificate for each of its transports. Each has to match.
struct PeerIdentity: Sendable {
    enum Verdict: Hashable, Sendable {
        /// The certificate, or the description, is still missing.
        case open
        case proven
        /// Final.
        case refuted
    }

    private(set) var verdict = Verdict.open
    private var named: CertificateFingerprints?
    /// Certificates in PEM that were shown before there was a description.
    private var early: Set<String> = []

    /// Takes the other side's description. Only the first one counts: sessions are not renegotiated.
    ///
    /// - Returns: The reason if this refutes the identity.
    mutating func take(description: String) -> WebRTCPeer.Distrust? {
        guard named == nil else { return nil }
        named = CertificateFingerprints(of: description)
        let shown = early
        early = []
        for pem in shown {
            if let distrust = take(certificate: pem) { return distrust }
        }
        return nil
    }

    /// Takes a certificate in PEM, during the handshake.
    ///
    /// - Returns: The reason if this refutes the identity.
    mutating func take(certificate pem: String) -> WebRTCPeer.Distrust? {
        guard verdict != .refuted else { return nil }
        guard let named else {
            early.insert(pem)
            return nil
        }
        let isNamed = named.admits { algorithm in CertificateDigest.of(pem: pem, algorithm: algorithm) }
        verdict = isNamed ? .proven : .refuted
        guard !isNamed else { return nil }
        return CertificateDigest.isCutOff(pem) ? .largeCertificate : .otherCertificate
    }

    /// Records that `webrtcbin` reports the connection. A resumed session shows no certificate, and proves nothing;
    /// nor does one that the other side has closed, which `webrtcbin` reports as connected, too.
    ///
    /// - Returns: The reason if this refutes the identity.
    mutating func connect() -> WebRTCPeer.Distrust? {
        guard verdict == .open else { return nil }
        verdict = .refuted
        return .noCertificate
    }
}
