extension WebRTCOffer {
    private static let mostFormats = 128
    private static let mostExtensions = 64
    private static let mostFeedback = 16

    /// Reads an offer.
    ///
    /// - Throws: `.tooLarge` or `.broken`. Whether it can be published is decided by `publication()`.
    public init(_ text: String) throws(WebRTCOfferError) {
        let text = try SDPText(text)
        guard !text.sections.isEmpty else { throw .broken("it has no media") }
        let groups = text.session.values(named: "group").map(\.words)
        let names = groups.first { $0.first == "BUNDLE" }?.dropFirst() ?? []
        bundle = names.prefix(SDPText.mostSections).compactMap { $0.token(limit: 64) }
        // Attributes that a bundled section omits are in the first section of the bundle (RFC 9143 §7.1.3).
        let first = bundle.first.flatMap { name in text.sections.first { $0["mid"].map(String.init) == name } }
        sections = []
        for section in text.sections {
            let mid = section["mid"]?.token(limit: 64) ?? ""
            let shared = bundle.contains(mid) ? first?.attributes ?? [] : []
            sections.append(try Self.section(section, mid: mid, shared: shared, session: text.session))
        }
        let named = sections.map(\.mid).filter { !$0.isEmpty }
        guard Set(named).count == named.count else { throw .broken("two of its media have the same name") }
    }

    private static func section(
        _ text: SDPText.Section, mid: String, shared: [SDPText.Attribute], session: [SDPText.Attribute]
    ) throws(WebRTCOfferError) -> Section {
        let words = text.media.words
        guard words.count >= 4, let port = UInt16(words[1].parts(between: "/").first ?? "") else {
            throw .broken("a line m= is not complete")
        }
        guard let kind = Kind(rawValue: String(words[0])) else { throw .broken("it has media of an unknown kind") }
        func value(_ name: String) -> Substring? {
            text[name] ?? session.first(named: name) ?? shared.first(named: name)
        }
        func isThere(_ name: String) -> Bool { value(name) != nil }

        guard let user = value("ice-ufrag"), let password = value("ice-pwd"),
            let credentials = Credentials(name: user, password: password)
        else { throw .broken("it has no ICE name and password") }
        guard let fingerprint = value("fingerprint").flatMap(Fingerprint.init) else {
            throw .broken("it has no fingerprint with SHA-256, SHA-384 or SHA-512")
        }
        let setup = String(value("setup") ?? "actpass")
        guard ["actpass", "active", "passive"].contains(setup) else { throw .broken("its a=setup has no known value") }
        let directions: [Direction] = [.sendonly, .recvonly, .inactive, .sendrecv]
        let direction =
            directions.first { text[$0.rawValue] != nil }
            ?? directions.first { session.first(named: $0.rawValue) != nil } ?? .sendrecv
        return Section(
            kind: kind, mid: mid, direction: direction,
            isRejected: port == 0 && text["bundle-only"] == nil,
            formats: kind == .application ? [] : formats(words.dropFirst(3), of: text),
            headerExtensions: extensions(of: text), credentials: credentials, fingerprint: fingerprint, setup: setup,
            multiplexesRTCP: isThere("rtcp-mux") || kind == .application,
            candidates: text.values("candidate").prefix(mostCandidates).map { String($0) })
    }

    private static func formats(_ payloads: ArraySlice<Substring>, of section: SDPText.Section) -> [Format] {
        var formats: [Format] = []
        var places: [Int: Int] = [:]
        let maps = numbered(section.values("rtpmap"))
        for word in payloads {
            guard let payload = Int(word), 0...127 ~= payload, places[payload] == nil, formats.count < mostFormats,
                let format = Format(payload: payload, map: maps[payload])
            else { continue }
            places[payload] = formats.count
            formats.append(format)
        }
        for (payload, parameters) in numbered(section.values("fmtp")) {
            if let place = places[payload] { formats[place].parameters = String(parameters) }
        }
        for value in section.values("rtcp-fb") {
            guard let (word, feedback) = divided(value) else { continue }
            let all = word == "*" ? Array(formats.indices) : [Int(word).flatMap { places[$0] }].compactMap { $0 }
            for place in all where formats[place].feedback.count < mostFeedback {
                formats[place].feedback.append(String(feedback))
            }
        }
        return formats
    }

    /// Returns values by the payload type that they begin with; the first of each type counts.
    private static func numbered(_ values: some Sequence<Substring>) -> [Int: Substring] {
        var numbered: [Int: Substring] = [:]
        for value in values {
            guard let (word, rest) = divided(value), let payload = Int(word), numbered[payload] == nil else { continue }
            numbered[payload] = rest
        }
        return numbered
    }

    /// Returns the first word and the rest of a value.
    private static func divided(_ value: Substring) -> (Substring, Substring)? {
        guard let space = value.utf8.firstIndex(of: 0x20) else { return nil }
        return (value[..<space], value[space...].drop { $0 == " " })
    }

    private static func extensions(of section: SDPText.Section) -> [HeaderExtension] {
        section.values("extmap").compactMap { value -> HeaderExtension? in
            let words = value.words
            // `a=extmap:id[/direction] URI [attributes]`
            guard words.count >= 2, let id = words[0].parts(between: "/").first.flatMap({ Int($0) }), 1...255 ~= id,
                let uri = words[1].token(limit: 256)
            else { return nil }
            return HeaderExtension(id: id, uri: uri)
        }.prefix(mostExtensions).map { $0 }
    }
}

extension WebRTCOffer.Format {
    /// - Parameter map: Value of `a=rtpmap` after the payload type: `H264/90000`, `opus/48000/2`.
    init?(payload: Int, map: Substring?) {
        self.payload = payload
        guard let map else {
            // Static payload types (RFC 3551 §6), as far as browsers offer them.
            guard let name = [0: "PCMU", 8: "PCMA", 9: "G722", 13: "CN"][payload] else { return nil }
            (encoding, clockRate) = (name, 8000)
            return
        }
        let parts = map.parts(between: "/")
        guard parts.count >= 2, let name = parts[0].token(limit: 32), let rate = Int(parts[1]),
            1...1_000_000 ~= rate
        else { return nil }
        encoding = name.uppercased()
        clockRate = rate
        channels = parts.count > 2 ? Int(parts[2]).flatMap { 1...255 ~= $0 ? $0 : nil } : nil
    }
}

extension WebRTCOffer.Credentials {
    /// - Returns: `nil` if name or password has a length or characters that RFC 8839 §5.4 does not allow.
    init?(name: Substring, password: Substring) {
        func isText(_ text: Substring) -> Bool {
            text.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
            }
        }
        guard 4...256 ~= name.utf8.count, 22...256 ~= password.utf8.count, isText(name), isText(password) else {
            return nil
        }
        self.init(name: String(name), password: String(password))
    }
}

extension WebRTCOffer.Fingerprint {
    /// Reads `sha-256 AB:CD:…`.
    init?(_ value: Substring) {
        let words = value.words
        guard words.count == 2 else { return nil }
        let name = words[0].lowercased()
        guard let length = ["sha-256": 32, "sha-384": 48, "sha-512": 64][name] else { return nil }
        let bytes = words[1].parts(between: ":").map { $0.utf8.count == 2 ? UInt8($0, radix: 16) : nil }
        let digest = bytes.compactMap { $0 }
        guard bytes.count == length, digest.count == length else { return nil }
        self.init(algorithm: name, digest: digest)
    }
}
