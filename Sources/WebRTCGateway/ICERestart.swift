import GStreamerKit

/// The answer to an ICE restart (RFC 9725 §4.3.3): the new credentials of this side with the candidates of its former
/// answer, since its addresses and ports stay as they are. Pure.
enum ICERestart {
    /// Returns the fragment for the client.
    ///
    /// - Parameter answer: The session description of the answer to the offer.
    static func fragment(of answer: String, _ own: WebRTCPeer.ICECredentials) -> String {
        let session = ["a=ice-ufrag:\(own.name)", "a=ice-pwd:\(own.password)"]
        var section: [String] = []
        for line in answer.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).map({ String(Substring($0)) }) {
            if line.hasPrefix("m=") {
                // All media share the transport of the section with candidates.
                if section.contains(where: { $0.hasPrefix("a=candidate:") }) { break }
                section = [line]
            } else if !section.isEmpty, isKept(line) {
                section.append(line)
            }
        }
        return (session + section).map { $0 + "\r\n" }.joined()
    }

    private static func isKept(_ line: String) -> Bool {
        line.hasPrefix("a=mid:") || line.hasPrefix("a=candidate:") || line == "a=end-of-candidates"
    }
}
