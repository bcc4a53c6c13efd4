import TestSupport
import Testing

@testable import MediaFormats

@Suite struct CertificateFingerprintsTests {
    /// A fingerprint whose digest consists of this byte.
    private static func fingerprint(_ algorithm: String, _ byte: String, count: Int) -> String {
        "\(algorithm) \(Array(repeating: byte, count: count).joined(separator: ":"))"
    }

    private static let first = fingerprint("sha-256", "AA", count: 32)
    private static let second = fingerprint("SHA-256", "bb", count: 32)
    private static let long = fingerprint("sha-512", "CC", count: 64)

    /// Returns the first byte of each fingerprint of a description.
    private static func bytes(_ session: [String], _ media: [String]...) -> Set<UInt8> {
        func lines(_ fingerprints: [String]) -> String { fingerprints.map { "a=fingerprint:\($0)\r\n" }.joined() }
        let sections = media.map { "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" + lines($0) }
        let named = CertificateFingerprints(of: "v=0\r\n" + lines(session) + sections.joined())
        return Set(named.accepted.compactMap(\.digest.first))
    }

    @Test func thoseOfTheSessionAreForMediaWithoutAny() {
        #expect(Self.bytes([Self.first], []) == [0xAA])
        #expect(Self.bytes([Self.first], [], [Self.second]) == [0xAA, 0xBB])
        #expect(Self.bytes([Self.first], [Self.second]) == [0xBB])
        #expect(Self.bytes([], [Self.first], [Self.second]) == [0xAA, 0xBB])
    }

    @Test func severalOfOneAlgorithmAreAlternatives() {
        #expect(Self.bytes([], [Self.first, Self.second]) == [0xAA, 0xBB])
    }

    @Test func theStrongestAlgorithmCounts() {
        #expect(Self.bytes([], [Self.first, Self.long]) == [0xCC])
        #expect(Self.bytes([], [Self.long, Self.second], [Self.first]) == [0xAA, 0xCC])
    }

    @Test func whatCannotBeReadNamesNothing() {
        let broken = ["sha-256 AA:BB", "sha-256", Self.fingerprint("sha-1", "DD", count: 20), ""]
        #expect(Self.bytes([], broken).isEmpty)
        // Not those of the session, which are for other media.
        #expect(Self.bytes([Self.first], ["sha-256 AA:BB"]).isEmpty)
        #expect(CertificateFingerprints(of: "{}").accepted.isEmpty)
        #expect(CertificateFingerprints(of: "").accepted.isEmpty)
    }

    @Test func oneDigestIsEnough() {
        let named = CertificateFingerprints(of: Offers.chromium)
        let digest = named.accepted.first?.digest
        #expect(named.accepted.count == 1)
        #expect(named.admits { $0 == "sha-256" ? digest : nil })
        #expect(!named.admits { _ in nil } && !named.admits { _ in [0x6B] })
        #expect(!CertificateFingerprints(of: "v=0").admits { _ in [] })
    }
}
