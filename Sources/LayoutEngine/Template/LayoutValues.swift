/// Values of a program that texts of layouts show.
public struct LayoutValues: Hashable, Codable, Sendable {
    /// Number of viewers, for `{viewers}`; `nil` while it is unknown.
    public var viewers: Int?
    /// Number of likes, for `{likes}`; `nil` while it is unknown.
    public var likes: Int?
    /// The comment that is shown, for `{comment}`; `nil` for none.
    public var comment: String?

    public init(viewers: Int? = nil, likes: Int? = nil, comment: String? = nil) {
        self.viewers = viewers
        self.likes = likes
        self.comment = comment
    }

    /// Returns only the values with these names; the others are unknown.
    public func only(_ names: Names) -> LayoutValues {
        LayoutValues(
            viewers: names.contains(.viewers) ? viewers : nil, likes: names.contains(.likes) ? likes : nil,
            comment: names.contains(.comment) ? comment : nil)
    }

    /// A set of names of values.
    public struct Names: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let viewers = Names(rawValue: 1)
        public static let likes = Names(rawValue: 2)
        public static let comment = Names(rawValue: 4)

        /// Creates the set of the names that a text contains in braces.
        init(in text: String) {
            self = []
            for case .name(let name) in TextPart.parts(of: text) {
                switch name {
                case "viewers": insert(.viewers)
                case "likes": insert(.likes)
                case "comment": insert(.comment)
                default: break
                }
            }
        }
    }

    /// Maximum length of a text into which values are inserted, in bytes.
    static let longestText = 512
    /// The names that texts may always refer to.
    static let builtIn = ["viewers", "likes", "comment", "host", "guest", "people", "clock", "countdown"]

    /// Formats a count in at most five characters: `950`, `12.3K`, `4.1M`.
    static func short(_ count: Int) -> String {
        let count = max(count, 0)
        for (unit, name) in [(1_000_000_000, "B"), (1_000_000, "M"), (1000, "K")]
        where count >= unit * (unit == 1000 ? 10 : 1) {
            let tenths = count / (unit / 10)
            return tenths >= 1000 || tenths % 10 == 0 ? "\(tenths / 10)\(name)" : "\(tenths / 10).\(tenths % 10)\(name)"
        }
        return "\(count)"
    }
}

/// The replacements of `{name}` in texts.
struct TextValues {
    private var words: [String: String] = [:]

    init(_ values: LayoutValues, of template: LayoutTemplate, people: [LayoutParticipant], names: [String: String]) {
        for parameter in template.parameters {
            words[parameter.name] = (template.values[parameter.name] ?? parameter.standard).description
        }
        func name(_ role: LayoutParticipant.Role) -> String {
            Self.literal(people.first { $0.role == role }.map { $0.name ?? names[$0.user] ?? $0.user } ?? "")
        }
        for (key, word) in [
            ("viewers", values.viewers.map(LayoutValues.short) ?? "–"),
            ("likes", values.likes.map(LayoutValues.short) ?? "–"),
            ("comment", Self.literal(values.comment ?? "")), ("host", name(.host)), ("guest", name(.guest)),
            ("people", "\(people.count)"),
        ] where words[key] == nil { words[key] = word }
    }

    /// Returns a text of a participant or a viewer that is drawn as it was written: the names that stand for the time are
    /// replaced later, so an invisible character keeps theirs from being one.
    private static func literal(_ text: String) -> String {
        [Overlay.Content.clockName, Overlay.Content.countdownName].reduce(text) { text, name in
            text.replacing(name, with: "{\u{2060}\(name.dropFirst())")
        }
    }

    /// Returns the text with its values inserted, cut to a length that can be drawn. Names without a value are
    /// unchanged.
    func filling(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return text }
        var result = ""
        for part in TextPart.parts(of: text) {
            switch part {
            case .plain(let text): result += text
            case .name(let name): result += words[name] ?? "{\(name)}"
            }
            guard result.utf8.count < LayoutValues.longestText else { break }
        }
        var bytes = result.utf8.prefix(LayoutValues.longestText)
        while String(Substring(bytes)).utf8.count != bytes.count { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }
}

/// A piece of a text in which names in braces represent values.
enum TextPart: Hashable {
    case plain(String)
    case name(String)

    static func parts(of text: String) -> [TextPart] {
        var parts: [TextPart] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = rest[rest.index(after: open)..<close]
            guard isName(name) else {
                parts.append(.plain(String(rest[...open])))
                rest = rest[rest.index(after: open)...]
                continue
            }
            parts += [.plain(String(rest[..<open])), .name(String(name))]
            rest = rest[rest.index(after: close)...]
        }
        return parts + [.plain(String(rest))]
    }

    /// Returns whether a text can be the name of a parameter.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard 1...40 ~= text.utf8.count, let first = text.utf8.first else { return false }
        func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
        return isLetter(first)
            && text.utf8.allSatisfy { byte in
                isLetter(byte) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: "-")
            }
    }
}
