/// A value that an operator may change without editing the file, declared by a layout under `params`.
public struct LayoutParameter: Hashable, Sendable {
    /// Name in the file and in requests: a letter, then letters, digits, `_` and `-`, at most 40 bytes.
    public var name: String
    public var kind: Kind
    /// Description for operators who set it, at most 256 bytes; not drawn.
    public var title: String?
    /// Value until a different one is set.
    public var standard: Value

    public init(name: String, kind: Kind, standard: Value, title: String? = nil) {
        self.title = title
        self.name = name
        self.kind = kind
        self.standard = standard
    }

    public enum Kind: Hashable, Sendable {
        /// A text of at most `most` bytes, 1…256.
        case text(most: Int)
        case number(ClosedRange<Double>)
        case colour
        /// An image, named as elsewhere in a layout; an empty text is no image, which only the canvas may have.
        case image
        /// Whether an element is shown.
        case visible

        /// The name of the kind in files.
        public var word: String {
            switch self {
            case .text: "text"
            case .number: "number"
            case .colour: "color"
            case .image: "image"
            case .visible: "visible"
            }
        }

        static let words = ["text", "number", "color", "image", "visible"]

        /// A description of the allowed values, for messages.
        public var expected: String {
            switch self {
            case .text(let most): "a text of at most \(most) bytes"
            case .number(let range):
                "a number from \(Value.text(of: range.lowerBound)) to \(Value.text(of: range.upperBound))"
            case .colour: "a colour like \"#1A2B3C\""
            case .image: "an http or https URL, or a path inside the layouts directory such as \"images/logo.png\""
            case .visible: "true or false"
            }
        }
    }

    /// A value in its JSON form: a text may also be a colour or an image, depending on the kind of its parameter.
    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Double)
        case flag(Bool)

        static func text(of number: Double) -> String {
            abs(number) < 1e15 && number == number.rounded() ? "\(Int(number))" : "\(number)"
        }

        /// The value in the form used inside a text.
        public var description: String {
            switch self {
            case .text(let text): text
            case .number(let number): Self.text(of: number)
            case .flag(let flag): "\(flag)"
            }
        }
    }

    /// Returns whether the value is allowed for the parameter.
    public func allows(_ value: Value) -> Bool {
        switch (kind, value) {
        case (.text(let most), .text(let text)): text.utf8.count <= most
        case (.number(let range), .number(let number)): range.contains(number)
        case (.colour, .text(let text)): RGB(hex: text) != nil
        case (.image, .text(let text)): text.isEmpty || ImageReference.isValid(text)
        case (.visible, .flag): true
        default: false
        }
    }
}

extension LayoutParameter.Value: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        }
    }
}
