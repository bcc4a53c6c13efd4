/// The attributes of a session description, divided by media section (RFC 8866 §5). Other lines are ignored.
///
/// Lines may end in CRLF, LF or CR, since senders use all three.
struct SDPText: Sendable {
    /// `a=name:value`; the value is empty without a colon.
    struct Attribute: Sendable {
        var name: Substring
        var value: Substring
    }

    struct Section: Sendable {
        /// The value of the `m=` line.
        var media: Substring
        var attributes: [Attribute] = []

        /// The first value of an attribute; empty for an attribute without a value.
        subscript(name: String) -> Substring? { attributes.first(named: name) }

        func values(_ name: String) -> [Substring] { attributes.values(named: name) }
    }

    /// Largest description, in bytes.
    static let longest = 64 << 10
    static let mostSections = 16
    /// Maximum number of attributes. Chromium's video has about 220.
    static let mostAttributes = 512

    private(set) var session: [Attribute] = []
    private(set) var sections: [Section] = []

    /// - Parameter isFragment: Whether the text begins in the middle of a description, as in trickle ICE (RFC 8840 §9).
    init(_ text: String, isFragment: Bool = false) throws(WebRTCOfferError) {
        guard text.utf8.count <= Self.longest else { throw .tooLarge }
        let lines = text.utf8.split { $0 == 0x0A || $0 == 0x0D }
        var isFirst = true
        for line in lines {
            // A sequence of UTF-8 never has these bytes inside another character, so every cut is between two.
            guard line.count >= 2, let type = line.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= type,
                line.dropFirst().first == UInt8(ascii: "=")
            else { throw .broken("a line is not of the form x=…") }
            guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .broken("a line has a control character")
            }
            let value = Substring(line.dropFirst(2))
            if isFirst {
                isFirst = false
                guard isFragment || type == UInt8(ascii: "v") && value == "0" else {
                    throw .broken("it does not begin with v=0")
                }
            }
            switch type {
            case UInt8(ascii: "m"):
                guard sections.count < Self.mostSections else {
                    throw .broken("it has more than \(Self.mostSections) media")
                }
                sections.append(Section(media: value))
            case UInt8(ascii: "a"):
                try add(Self.attribute(value))
            default: break
            }
        }
        guard !isFirst else { throw .broken("it is empty") }
    }

    private mutating func add(_ attribute: Attribute) throws(WebRTCOfferError) {
        let count = sections.last?.attributes.count ?? session.count
        guard count < Self.mostAttributes else {
            throw .broken("a part of it has more than \(Self.mostAttributes) attributes")
        }
        if sections.isEmpty {
            session.append(attribute)
        } else {
            sections[sections.count - 1].attributes.append(attribute)
        }
    }

    private static func attribute(_ line: Substring) -> Attribute {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return Attribute(name: line, value: "") }
        return Attribute(name: line[..<colon], value: line[line.utf8.index(after: colon)...])
    }
}

extension Sequence<SDPText.Attribute> {
    func first(named name: String) -> Substring? { first { $0.name.utf8.elementsEqual(name.utf8) }?.value }

    func values(named name: String) -> [Substring] {
        compactMap { $0.name.utf8.elementsEqual(name.utf8) ? $0.value : nil }
    }
}

extension Substring {
    /// The parts between spaces or tabs.
    var words: [Substring] { utf8.split { $0 == 0x20 || $0 == 0x09 }.map { Substring($0) } }

    /// The parts between occurrences of an ASCII character.
    func parts(between separator: Unicode.Scalar) -> [Substring] {
        utf8.split { $0 == UInt8(ascii: separator) }.map { Substring($0) }
    }

    /// A token (RFC 8866 §9) of at most `limit` bytes; `nil` for other text.
    func token(limit: Int) -> String? {
        guard (1...limit).contains(utf8.count), utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x22 && $0 != 0x5C })
        else { return nil }
        return String(self)
    }
}
