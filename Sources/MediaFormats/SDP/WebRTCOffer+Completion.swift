extension WebRTCOffer {
    /// Returns the text of this offer with the attributes of its transport in each of its media, and without
    /// `bundle-only`; unchanged if there is nothing to add.
    ///
    /// An offer may state its transport once, for the session or in the first of the bundled media, and give the others
    /// port 0 with `a=bundle-only` (RFC 8829 §5.2.1, RFC 9143 §7.1.3). `webrtcbin` 1.22 refuses media without
    /// `a=setup` of their own, or with ICE credentials unlike those of the bundle, and skips media with port 0.
    ///
    /// - Parameters:
    ///   - text: The text that this offer was read from.
    ///   - isAnswer: Whether the text is an answer, which is read like an offer. Its sender cannot leave open which side
    ///     begins DTLS: without `a=setup`, the other side does (RFC 4145 §4.1).
    public func completed(_ text: String, isAnswer: Bool = false) -> String {
        let lines = text.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { String(Substring($0)) }
        let begins = lines.indices.filter { lines[$0].hasPrefix("m=") }
        guard let first = begins.first, begins.count == sections.count else { return text }
        let blocks = zip(begins, begins.dropFirst() + [lines.endIndex]).map { lines[$0..<$1] }
        func has(_ name: String, in lines: ArraySlice<String>) -> Bool {
            lines.contains { $0.hasPrefix("a=\(name):") }
        }
        let session = lines[..<first]
        // Copied as they are: `webrtcbin` compares the texts of fingerprints.
        let fingerprints = blocks[sectionOfTransport].filter { $0.hasPrefix("a=fingerprint:") }

        var completed = Array(session)
        for (section, block) in zip(sections, blocks) {
            let (user, password) = (section.credentials.name, section.credentials.password)
            let setup = isAnswer && section.setup == "actpass" ? "passive" : section.setup
            let transport = [("ice-ufrag", user), ("ice-pwd", password), ("setup", setup)]
            var added = transport.filter { !has($0.0, in: block) }.map { "a=\($0.0):\($0.1)" }
            if !has("fingerprint", in: session), !has("fingerprint", in: block) { added += fingerprints }
            let needsMux = section.multiplexesRTCP && section.kind != .application
            if needsMux, !block.contains("a=rtcp-mux") { added.append("a=rtcp-mux") }
            completed += block.prefix(1).map { section.isRejected ? $0 : Self.opened($0) }
            completed += block.dropFirst().filter { $0 != "a=bundle-only" }
            completed += added
        }
        return completed == lines ? text : completed.joined(separator: "\r\n") + "\r\n"
    }

    /// Returns a line `m=` with the port 9, which stands for one that ICE finds, instead of 0.
    private static func opened(_ line: String) -> String {
        var words = line.dropFirst(2).words
        guard words.count > 1, let port = words[1].parts(between: "/").first, UInt16(port) == 0 else { return line }
        words[1] = "9"
        return "m=" + words.joined(separator: " ")
    }
}
