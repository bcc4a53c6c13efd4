import EventSubscription
import TextFormats

/// The parameters of a call, from the query and from a form in the body.
///
/// Each parameter has one value. An empty value counts as omitted.
struct WireParameters: Sendable {
    struct Pair: Hashable, Sendable {
        var name: String
        var value: String
    }
    /// The parameters as received, including empty ones, because signatures cover them.
    private(set) var pairs: [Pair] = []
    private var values: [String: String] = [:]

    /// Maximum number of parameters. A larger number is a mistake or an attack.
    static let most = 1000
    /// Maximum length of a name, in bytes of UTF-8.
    private static let longestName = 256

    init() {}

    /// - Parameter forms: Queries and bodies, as `name=value&…`.
    /// - Throws: `CallError` if a name occurs twice, because two readers could use different values.
    init(_ forms: [some Collection<UInt8>]) throws(CallError) {
        for form in forms { try add(form) }
    }

    /// Adds the parameters of another form.
    ///
    /// - Throws: As `init`.
    mutating func add(_ form: some Collection<UInt8>) throws(CallError) {
        for part in form.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = PercentEncoding.formDecoded(part[..<equals])
            let value = equals == part.endIndex ? "" : PercentEncoding.formDecoded(part[part.index(after: equals)...])
            guard pairs.count < Self.most else { throw .invalid("the request", "at most \(Self.most) parameters") }
            // Names are hashed, and names and values are compared.
            guard name.utf8.count <= Self.longestName, !name.hasTooManyMarks, !value.hasTooManyMarks else {
                throw .invalid(
                    name,
                    "expected a name of at most \(Self.longestName) bytes, and at most \(String.mostMarksInARow) combining "
                        + "marks in a row")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .invalid(String(name.prefix(bytes: 64)), "the parameter appears twice: send it once")
            }
            pairs.append(Pair(name: name, value: value))
        }
    }

    /// The value of a parameter, or `nil` if it is omitted or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    func required(_ name: String, _ expected: String) throws(CallError) -> String {
        guard let value = self[name] else { throw .missing(name, expected) }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(CallError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .invalid(name, text, "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    func requiredInteger(_ name: String, in range: ClosedRange<Int>) throws(CallError) -> Int {
        guard let value = try integer(name, in: range) else {
            throw .missing(name, "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    /// Returns the values of `name.1`, `name.2` and so on, in the order of their numbers. Empty if there are none.
    func list(_ name: String, atMost most: Int) throws(CallError) -> [String] {
        let prefix = name + "."
        var numbered: [(number: Int, value: String)] = []
        for pair in pairs where pair.name.hasPrefix(prefix) && !pair.value.isEmpty {
            guard let number = Int(pair.name.dropFirst(prefix.count)), number >= 1 else {
                throw .invalid(pair.name, "expected \(name).1, \(name).2 and so on")
            }
            numbered.append((number, pair.value))
        }
        guard numbered.count <= most else { throw .invalid(name, "at most \(most) of them, not \(numbered.count)") }
        return numbered.sorted { $0.number < $1.number }.map(\.value)
    }

    /// Returns the parameters sorted by the bytes of their names, percent-encoded and joined. Both signatures use this
    /// form.
    static func canonical(_ pairs: [Pair]) -> [UInt8] {
        let sorted = pairs.sorted { left, right in
            left.name == right.name
                ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
                : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2048)
        for pair in sorted {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            PercentEncoding.append(pair.name.utf8, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(pair.value.utf8, to: &bytes)
        }
        return bytes
    }
}
