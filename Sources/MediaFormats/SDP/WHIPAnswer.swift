import TextFormats

/// A WHIP server's answer to an offer of H.264, Opus or both (RFC 9725 §4.2), parsed as far as a client has to check it
/// before use. Pure.
package struct WHIPAnswer: Hashable, Sendable {
    /// The reason why an answer cannot be used.
    package struct Failure: Error, Hashable, Sendable {
        /// Whether the server has read the offer and rejects all of it.
        package let isRefusal: Bool
        /// Description for operators, without text of the answer.
        package let words: String
    }

    /// Largest number of candidates that are used.
    package static let mostCandidates = 64

    /// The answer as received.
    package let text: String
    /// Whether the server accepts the audio.
    package let takesAudio: Bool

    /// - Parameters:
    ///   - text: The session description, at most 64 KiB.
    ///   - hasVideo: Whether the offer has video. The server must take it, or else the audio.
    package init(_ text: String, hasVideo: Bool = true) throws(Failure) {
        let parsed: SDPText
        do throws(WebRTCOfferError) {
            parsed = try SDPText(text)
        } catch {
            let words = if case .broken(let words) = error { words } else { "it is larger than 64 KiB" }
            throw Failure(isRefusal: false, words: "the server's answer is not one of WebRTC: \(words)")
        }
        func taken(_ kind: String) -> SDPText.Section? {
            parsed.sections.first { section in
                let words = section.media.words
                return words.first.map { $0.utf8.elementsEqual(kind.utf8) } ?? false
                    && (words.dropFirst().first ?? "0" != "0" || section["bundle-only"] != nil)
                    && section["inactive"] == nil && section["sendonly"] == nil
            }
        }
        let kind = hasVideo ? "video" : "audio"
        let (format, name) = hasVideo ? (" h264/90000", "H.264") : (" opus/48000", "Opus")
        guard let main = taken(kind) else {
            throw Failure(isRefusal: true, words: "the server takes no \(kind) of the offer, which has \(name)")
        }
        guard main.values("rtpmap").contains(where: { $0.lowercased().contains(format) }) else {
            throw Failure(isRefusal: true, words: "the server's answer has no \(name)")
        }
        func isThere(_ name: String) -> Bool {
            main[name] != nil || parsed.session.first(named: name) != nil
                || parsed.sections.contains { $0[name] != nil }
        }
        for name in ["ice-ufrag", "ice-pwd"] where !isThere(name) {
            throw Failure(isRefusal: false, words: "the server's answer has no a=\(name)")
        }
        // Without one, every certificate would be refused after the handshake, as if the connection were intercepted.
        guard !CertificateFingerprints(of: text).accepted.isEmpty else {
            throw Failure(
                isRefusal: false, words: "the server's answer has no a=fingerprint with SHA-256, SHA-384 or SHA-512")
        }
        self.text = text
        takesAudio = taken("audio") != nil
    }

    /// Returns the answer without candidates that must not be connected to, without host names, whose addresses would
    /// be resolved unchecked, and without candidates beyond `mostCandidates`.
    ///
    /// - Parameter isAllowed: Whether packets may be sent to an address.
    package func text(where isAllowed: (InternetAddress) -> Bool) -> String {
        var count = 0
        let lines = text.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { Substring($0) }.filter { line in
            // By bytes, as libraries read them: a character after the colon may combine with it.
            let isCandidate = line.startsInUTF8(with: "a=candidate:")
            guard isCandidate || line.startsInUTF8(with: "a=remote-candidates") else { return true }
            guard isCandidate, count < Self.mostCandidates, let address = Self.address(ofCandidate: line),
                isAllowed(address)
            else { return false }
            count += 1
            return true
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// Returns the address of `a=candidate:foundation component transport priority address port typ type …` (RFC 8839
    /// §5.1); `nil` unless there is exactly one space between these parts. ICE libraries split the line at each space
    /// and nowhere else, so in any other line they could find another address.
    private static func address(ofCandidate line: Substring) -> InternetAddress? {
        guard line.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
        let parts = line.utf8.split(omittingEmptySubsequences: false) { $0 == 0x20 }.prefix(8)
        guard parts.count == 8, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        return InternetAddress(text: String(Substring(parts[4])))
    }
}
