import GStreamerKit

extension WebRTCPeer.Distrust {
    /// Returns the reason in words for operators.
    ///
    /// - Parameters:
    ///   - side: Name of the other side, such as `the client`.
    ///   - description: Name of its session description, such as `offer`.
    func words(of side: String, _ description: String) -> String {
        switch self {
        case .otherCertificate:
            "\(side)'s certificate is not the one that its \(description) names (a=fingerprint): "
                + "is the connection intercepted?"
        case .largeCertificate:
            "\(side)'s certificate is too large to be compared with its \(description): "
                + "let it use one of at most 2900 bytes"
        case .noCertificate:
            "\(side) showed no certificate: it closed DTLS before the handshake was complete, or resumed a session"
        }
    }
}
