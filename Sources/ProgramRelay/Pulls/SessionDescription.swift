/// A session description: the addresses and formats of RTP streams (RFC 8866).
///
/// Only the first receivable video stream and the first audio stream are used; all others are ignored.
struct SessionDescription: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case video, audio
    }

    /// A stream of the session.
    struct Media: Hashable, Sendable {
        var kind: Kind
        /// Address at which the stream is received; IPv6 without brackets.
        var address: String
        var port: UInt16
        /// Payload type, 0…127.
        var payload: Int
        /// Name of the encoding in upper case.
        var encoding: String
        var clockRate: Int
        var channels: Int?
        /// Parameters of the format, with names in lower case.
        var parameters: [Parameter] = []
    }

    struct Parameter: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// Largest description in bytes.
    static let longest = 64 << 10
    private static let mostParameters = 32

    private(set) var media: [Media] = []

    /// - Throws: `PullEnd`, whose text contains no part of the description.
    init(_ bytes: [UInt8]) throws(PullEnd) {
        guard bytes.count <= Self.longest else {
            throw PullEnd(.protocolViolation, "the session description is larger than \(Self.longest >> 10) KiB")
        }
        let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }.map { String(decoding: $0, as: UTF8.self) }
        guard lines.first == "v=0" else {
            throw PullEnd(.protocolViolation, "the session description does not begin with v=0")
        }
        let sections = lines.split(omittingEmptySubsequences: false) { $0.hasPrefix("m=") }
        let beginnings = lines.filter { $0.hasPrefix("m=") }
        let general = sections.first.flatMap { Self.connection($0) }
        for (line, section) in zip(beginnings, sections.dropFirst()) {
            guard let media = Self.media(line, section, address: Self.connection(section) ?? general),
                !self.media.contains(where: { $0.kind == media.kind })
            else { continue }
            self.media.append(media)
        }
        guard !media.isEmpty else {
            throw PullEnd(.protocolViolation, "the session description has neither a picture nor a sound over RTP")
        }
    }

    /// Reads `c=IN IP4 address[/ttl]` (RFC 8866 §5.7).
    private static func connection(_ lines: some Sequence<String>) -> String? {
        for line in lines where line.hasPrefix("c=IN IP") {
            let words = line.dropFirst(2).split(separator: " ")
            if words.count == 3 { return words[2].split(separator: "/").first.map { String($0) } }
        }
        return nil
    }

    /// Reads `m=kind port[/n] RTP/AVP payload…` and the attributes of its first payload type.
    private static func media(_ line: String, _ lines: some Sequence<String>, address: String?) -> Media? {
        let words = line.dropFirst(2).split(separator: " ")
        guard words.count >= 4, let kind = Kind(rawValue: String(words[0])), let address,
            let port = words[1].split(separator: "/").first.flatMap({ UInt16($0) }),
            ["RTP/AVP", "RTP/AVPF"].contains(words[2]), let payload = Int(words[3]), 0...127 ~= payload
        else { return nil }
        var media = fixed(kind, address, port, payload)
        for line in lines {
            if let value = attribute("rtpmap", payload, of: line) {
                let parts = value.split(separator: "/")
                guard parts.count >= 2, let rate = Int(parts[1]), 1...1_000_000 ~= rate, isName(parts[0]) else {
                    return nil
                }
                media.encoding = parts[0].uppercased()
                media.clockRate = rate
                media.channels = parts.count > 2 ? Int(parts[2]).flatMap { 1...8 ~= $0 ? $0 : nil } : nil
            } else if let value = attribute("fmtp", payload, of: line) {
                for part in value.split(separator: ";") where media.parameters.count < mostParameters {
                    let trimmed = part.drop { $0 == " " }
                    guard let equals = trimmed.firstIndex(of: "=") else { continue }
                    let (name, text) = (trimmed[..<equals], trimmed[trimmed.index(after: equals)...])
                    // Quotes and backslashes would end a value of caps.
                    guard isName(name), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
                    else { continue }
                    media.parameters.append(Parameter(name: name.lowercased(), value: String(text)))
                }
            }
        }
        return media.encoding.isEmpty ? nil : media
    }

    private static func attribute(_ name: String, _ payload: Int, of line: String) -> Substring? {
        let start = "a=\(name):\(payload) "
        return line.hasPrefix(start) ? line.dropFirst(start.count) : nil
    }

    private static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-_.".utf8.contains(byte)
            }
    }

    /// Returns the static meaning of a payload type without a map (RFC 3551 §6).
    private static func fixed(_ kind: Kind, _ address: String, _ port: UInt16, _ payload: Int) -> Media {
        let (encoding, rate, channels): (String, Int, Int?) =
            switch payload {
            case 0: ("PCMU", 8000, 1)
            case 8: ("PCMA", 8000, 1)
            case 9: ("G722", 8000, 1)
            case 10: ("L16", 44_100, 2)
            case 11: ("L16", 44_100, 1)
            case 14: ("MPA", 90_000, nil)
            case 33: ("MP2T", 90_000, nil)
            default: ("", 90_000, nil)
            }
        return Media(
            kind: kind, address: address, port: port, payload: payload, encoding: encoding, clockRate: rate,
            channels: channels)
    }
}

extension SessionDescription.Media {
    /// The format as caps. All external text is a valid name or quoted.
    var caps: String {
        var fields = [
            "application/x-rtp", "media=(string)\(kind.rawValue)", "payload=(int)\(payload)",
            "clock-rate=(int)\(clockRate)", "encoding-name=(string)\"\(encoding)\"",
        ]
        if let channels {
            fields.append("encoding-params=(string)\"\(channels)\"")
            fields.append("channels=(int)\(channels)")
        }
        let taken = ["media", "payload", "clock-rate", "encoding-name", "encoding-params", "channels"]
        for parameter in parameters where !taken.contains(parameter.name) {
            fields.append("\(parameter.name)=(string)\"\(parameter.value)\"")
        }
        return fields.joined(separator: ",")
    }
}
