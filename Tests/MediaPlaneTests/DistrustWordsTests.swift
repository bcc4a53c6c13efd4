import GStreamerKit
import Testing

@testable import WebRTCGateway

/// The reasons of connections whose other side has not proven who it is.
@Suite struct DistrustWordsTests {
    @Test(
        arguments: [
            (
                .otherCertificate,
                "the client's certificate is not the one that its offer names (a=fingerprint): "
                    + "is the connection intercepted?"
            ),
            (
                .largeCertificate,
                "the client's certificate is too large to be compared with its offer: "
                    + "let it use one of at most 2900 bytes"
            ),
            (
                .noCertificate,
                "the client showed no certificate: it closed DTLS before the handshake was complete, "
                    + "or resumed a session"
            ),
        ] as [(WebRTCPeer.Distrust, String)])
    func eachReasonHasItsWords(distrust: WebRTCPeer.Distrust, words: String) {
        #expect(distrust.words(of: "the client", "offer") == words)
    }
}
