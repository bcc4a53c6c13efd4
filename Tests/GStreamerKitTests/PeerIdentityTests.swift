import Testing

@testable import GStreamerKit

/// Certificates of OpenSSL, and the fingerprints that `openssl x509 -fingerprint` prints for them.
@Suite struct PeerIdentityTests {
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbzCCARWgAwIBAgIUOcMDBclcMfW/zyTIFnCKQW7/yvswCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjkxNjIyMzVaGA8yMTI2MTEwNTE2MjIzNVow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPW1cy1RJjRR
        xssXGGBRmcrWfRiTzqe2Ax/pM99t2pjiJ3GfaFKpYKluh+uV0j2Zdd8vDePUEh3F
        AWoqr9U0gNKjUzBRMB0GA1UdDgQWBBQ4rb+8mQxv4oJ0/HfCgUn8tbB5vzAfBgNV
        HSMEGDAWgBQ4rb+8mQxv4oJ0/HfCgUn8tbB5vzAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0gAMEUCIQCBpoXp/i01hWPqAaiAgUoRCJEYS0bdvC02g+7NHKvH
        5QIgVXrllQUi3SK4n27NtB5EJ/+vGJ9dD9/cEjSH3o0Wy4A=
        -----END CERTIFICATE-----
        """
    private static let another = """
        -----BEGIN CERTIFICATE-----
        MIIBcDCCARWgAwIBAgIUPs7fqqNpsSC6/YtILC9hByl0VCYwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYjAgFw0yNjExMjkxNjIyMzVaGA8yMTI2MTEwNTE2MjIzNVow
        DDEKMAgGA1UEAwwBYjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABErz9980g6H/
        nUyfaNnR4TxzWSA7pFxwTSx/dKa3TaXKhKx9QHnixWZ03kQ0IeW3F/SmMXgskECW
        fXhOIdq0DDajUzBRMB0GA1UdDgQWBBRA/1o5KCUVX3o/0Bbch2XApTLy7jAfBgNV
        HSMEGDAWgBRA/1o5KCUVX3o/0Bbch2XApTLy7jAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0kAMEYCIQDmyea50ExGfNyZLPACaG165b4tdxyUaXoZJHTyMJyo
        9QIhAKRenVcTC3N2m6oTJV8fRzpnNeTdTNGarSNRs9vzvTJn
        -----END CERTIFICATE-----
        """
    private static let sha256 =
        "6F:A8:59:1A:6E:C7:06:8C:9A:26:1D:29:8D:5E:A9:99:0F:50:90:5C:62:E1:10:0B:D9:8D:1F:CC:48:7C:C1:49"
    private static let sha384 =
        "FC:B8:7E:B8:22:0E:65:AD:61:87:03:7E:CE:0A:25:CC:34:C1:30:89:8D:E6:D9:D4:"
        + "4E:E2:8C:82:DD:39:EF:06:D0:F5:11:D4:CE:98:24:B4:18:32:AC:14:F8:6E:89:0D"
    private static let sha512 =
        "36:5E:DC:05:0A:30:A5:54:51:F0:3D:9B:40:EC:D2:0F:8D:68:A5:FF:AC:F4:D2:3A:53:50:00:E9:70:10:50:ED:"
        + "EA:62:B9:FD:D4:71:88:CF:4C:46:37:1A:FB:17:CD:7A:9F:5C:5A:6F:DA:60:1D:4B:AD:BB:5A:59:BE:B3:1D:C6"

    private enum Step: Sendable {
        case description(String)
        case certificate(String)
        case connected
    }

    private struct Outcome: Hashable, Sendable {
        var verdict: PeerIdentity.Verdict
        /// The reasons of the steps that were reported to refute the identity.
        var refutations: [WebRTCPeer.Distrust] = []
    }

    /// Returns the outcome of these steps. Descriptions are given as their fingerprint.
    private static func outcome(_ steps: Step...) -> Outcome {
        var identity = PeerIdentity()
        var refutations: [WebRTCPeer.Distrust] = []
        for step in steps {
            let distrust =
                switch step {
                case .description(let fingerprint):
                    identity.take(
                        description: "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=fingerprint:\(fingerprint)\r\n")
                case .certificate(let pem): identity.take(certificate: pem)
                case .connected: identity.connect()
                }
            if let distrust { refutations.append(distrust) }
        }
        return Outcome(verdict: identity.verdict, refutations: refutations)
    }

    private static let named = Step.description("sha-256 \(sha256)")

    @Test(arguments: [
        "sha-256 \(sha256)", "sha-256 \(sha256.lowercased())", "SHA-384 \(sha384)", "sha-512 \(sha512)",
        "sha-256 \(sha256)\r\na=fingerprint:sha-512 \(sha512)",
    ])
    func aNamedCertificateProvesIt(fingerprint: String) {
        #expect(Self.outcome(.description(fingerprint)) == Outcome(verdict: .open))
        #expect(
            Self.outcome(.description(fingerprint), .certificate(Self.certificate), .connected)
                == Outcome(verdict: .proven))
    }

    @Test(arguments: [
        "sha-256 00\(sha256.dropFirst(2))", "sha-256 \(sha256.dropLast(3))", "sha-384 \(sha256)", "md5 \(sha256)",
        // The right one by the weaker algorithm only.
        "sha-256 \(sha256)\r\na=fingerprint:sha-512 00\(sha512.dropFirst(2))", "",
    ])
    func anotherCertificateRefutesItForEver(fingerprint: String) {
        // It is reported once.
        #expect(
            Self.outcome(
                .description(fingerprint), .certificate(Self.certificate), .certificate(Self.certificate), .connected,
                Self.named, .certificate(Self.certificate))
                == Outcome(verdict: .refuted, refutations: [.otherCertificate]))
    }

    /// The other side may begin its handshake before its answer arrives.
    @Test func aDescriptionMayComeAfterTheCertificate() {
        #expect(Self.outcome(.certificate(Self.certificate)) == Outcome(verdict: .open))
        #expect(Self.outcome(.certificate(Self.certificate), Self.named, .connected) == Outcome(verdict: .proven))
        #expect(
            Self.outcome(.certificate(Self.another), Self.named)
                == Outcome(verdict: .refuted, refutations: [.otherCertificate]))
    }

    @Test func everyTransportIsChecked() {
        #expect(
            Self.outcome(Self.named, .certificate(Self.certificate), .certificate(Self.another))
                == Outcome(verdict: .refuted, refutations: [.otherCertificate]))
    }

    /// GStreamer reads the first 4096 bytes only.
    @Test(arguments: [1, 25, 26, 400])
    func aCertificateThatIsCutOffIsTooLarge(missing: Int) {
        #expect(
            Self.outcome(Self.named, .certificate(String(Self.certificate.dropLast(missing))), .connected)
                == Outcome(verdict: .refuted, refutations: [.largeCertificate]))
        #expect(!CertificateDigest.isCutOff(Self.certificate) && !CertificateDigest.isCutOff(""))
    }

    /// A session that is resumed shows none, nor does one that is closed before the handshake is complete.
    @Test func aConnectionWithoutACertificateRefutesIt() {
        #expect(Self.outcome(Self.named, .connected) == Outcome(verdict: .refuted, refutations: [.noCertificate]))
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"])
    func textWithoutACertificateHasNoDigest(pem: String) {
        #expect(CertificateDigest.of(pem: pem, algorithm: "sha-256") == nil)
        #expect(CertificateDigest.of(pem: Self.certificate, algorithm: "md5") == nil)
    }
}
