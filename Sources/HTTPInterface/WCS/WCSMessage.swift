import EventSubscription
import TextFormats

/// One message of Web Call Server's protocol: `{"message":"…","data":[…]}` in both directions.
struct WCSMessage: Hashable, Sendable {
    var name: String
    /// Always an array: clients read its first element before anything else.
    var data: [JSONValue]

    init(_ name: String, _ data: [JSONValue]) {
        self.name = name
        self.data = data
    }

    init(_ name: String, _ fields: [String: JSONValue]) { self.init(name, [.object(fields)]) }

    /// Reads a client's message; `nil` if the text is not a message. Clients send one element, an object or null.
    init?(parsing text: String) {
        guard case .object(let fields)? = try? JSONValue(parsing: text.utf8),
            case .string(let name)? = fields["message"],
            name.utf8.count <= Self.longestName
        else { return nil }
        self.name = name
        if case .array(let data)? = fields["data"] { self.data = data } else { data = [] }
    }

    private static let longestName = 64

    var text: String { JSONText.of(.object(["message": .string(name), "data": .array(data)])) }

    /// The fields of the first element.
    var fields: [String: JSONValue] { if case .object(let fields)? = data.first { fields } else { [:] } }
}

extension [String: JSONValue] {
    /// Returns a text of at most `longest` bytes; `nil` for anything else.
    func text(_ key: String, atMost longest: Int = 512) -> String? {
        guard case .string(let text)? = self[key], text.utf8.count <= longest else { return nil }
        return text
    }

    /// Returns a Boolean, which clients also send as text.
    func flag(_ key: String) -> Bool? {
        switch self[key] {
        case .boolean(let flag): flag
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }

    func object(_ key: String) -> [String: JSONValue] {
        if case .object(let fields)? = self[key] { fields } else { [:] }
    }
}
